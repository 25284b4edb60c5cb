//! What went wrong is said in one sentence, which names the two events that matter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use unthread_checker::base::{Source, Verdict};
use unthread_checker::engines::{check, look_elsewhere};
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::report::json::{JsonViolation, sequential, violation};
use unthread_checker::search::{Options, Unwatched};
use unthread_checker::simplest::simplify;

fn parse(name: &str, text: String) -> Program {
    ut::parse(Arc::new(Source::new(name, text)), &BTreeMap::new()).expect("the program is right")
}

/// The first violation of a program, made simple.
fn explained(program: &Program, memory: MemoryModel) -> JsonViolation {
    let options = Options::new(memory);
    let mut report = check(program, &options, &Unwatched);
    simplify(program, &options, &mut report, &Unwatched);
    violation(program, &options, report.violations.first().expect("something is wrong"))
}

/// Compares the sentence, and the two events: thread, line, and what the step says.
fn assert_told(name: &str, program: &Program, memory: MemoryModel, sentence: &str, events: &[&str]) {
    let told = explained(program, memory);
    assert_eq!(told.sentence, sentence, "{name}");
    let shown = told.events.iter().map(|&at| &told.story.steps[at]);
    let shown: Vec<String> = shown.map(|step| format!("{}:{}: {}", step.name, step.line, step.text)).collect();
    assert_eq!(shown, events, "{name}");
    assert!(told.events.iter().all(|&at| told.story.steps[at].relevant), "{name}: they are not folded");
}

#[test]
fn ten_bugs_of_the_corpus_are_told_by_the_two_events_that_matter() {
    use MemoryModel::{Pso, Sc, Tso};
    let corpus = Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/programs");
    let bugs: &[(&str, MemoryModel, &str, [&str; 2])] = &[
        (
            "dekker.ut",
            Tso,
            "worker[1]'s store to `wants[1]` (line 12) was still in its buffer when worker[0] read `wants[1]` (line 13)",
            ["worker[1]:12: wants[1] = 1", "worker[0]:13: wants[1] → 0"],
        ),
        (
            "peterson.ut",
            Tso,
            "worker[1]'s store to `turn` (line 21) was still in its buffer when worker[0] stored to `turn` (line 21), and arrived after that",
            ["worker[1]:21: turn = 0", "worker[0]:21: turn = 1"],
        ),
        (
            "bakery.ut",
            Tso,
            "customer[0]'s store to `choosing[0]` (line 24) was still in its buffer when customer[1] read `choosing[0]` (line 31)",
            ["customer[0]:24: choosing[0] = 1", "customer[1]:31: choosing[0] → 0"],
        ),
        (
            "lost_wakeup.ut",
            Tso,
            "producer's store to `work` (line 28) was still in its buffer when consumer read `work` (line 22)",
            ["producer:28: work = 1", "consumer:22: work → 0"],
        ),
        (
            "peers/mp.ut",
            Pso,
            "sender's store to `message` (line 16) was still in its buffer when receiver read `message` (line 24), though its later store \
             to `flag` (line 18) was already in memory",
            ["sender:16: message = 1", "receiver:24: received: message → 0"],
        ),
        (
            "treiber_aba.ut",
            Sc,
            "`head` was the same when one read it (line 31) and when its compare-exchange succeeded (line 34), but other had changed it in \
             between (line 24)",
            ["one:31: old: head → 1", "other:24: cas head 0→1 ok"],
        ),
        (
            "account.ut",
            Sc,
            "nothing orders depositor[0]'s store to `amount` (line 15) and depositor[1]'s read of `amount` (line 15)",
            ["depositor[0]:15: amount = 200", "depositor[1]:15: amount → 200"],
        ),
        (
            "papers/deadlock.ut",
            Sc,
            "first waits for `b` (line 17), which second took (line 23); second waits for `a` (line 25), which first took (line 15)",
            ["first:15: lock a", "second:23: lock b"],
        ),
        (
            "papers/stringbuf.ut",
            Sc,
            "deleter stored to `count2` (line 38) between appender's reads of it (lines 15 and 19)",
            ["appender:15: n: count2 → 1", "deleter:38: count2 = 0"],
        ),
        (
            "papers/mtlist.ut",
            Sc,
            "changer stored to `changes` (line 42) between contains_all's reads of it (lines 17 and 20)",
            ["contains_all:17: expected: changes → 0", "changer:42: changes = 2"],
        ),
    ];
    for (file, memory, sentence, events) in bugs {
        let text = std::fs::read_to_string(corpus.join(file)).expect("it is readable");
        assert_told(file, &parse(file, text), *memory, sentence, events);
    }
}

#[test]
fn each_kind_of_violation_has_its_sentence() {
    let told: &[(&str, &str, &[&str])] = &[
        (
            "shared x;\nthread t * 2 {\n  let r = x;\n  x = r + 1;\n}\nalways (x == 2);",
            "t[1] stored to `x` (line 4) after t[0] had read it (line 3) and before t[0] stored to it (line 4): that update is lost",
            &["t[0]:3: r: x → 0", "t[1]:4: x = 1"],
        ),
        (
            "struct Node { value }\nshared p;\nmain {\n  p = new Node;\n  fork user;\n  free(p);\n}\nthread user {\n  p.value = 1;\n}",
            "main freed `heap1.0` (line 6) before user stored to it (line 9)",
            &["main:6: free heap1.0", "user:9: heap1.0 = 1 ✗ use-after-free"],
        ),
        (
            "struct Node { value }\nshared p;\nthread maker {\n  p = new Node;\n}\nthread user {\n  let q = p;\n  q.value = 1;\n}",
            "user read `p` = 0 (line 7), and nobody had stored to it",
            &["user:7: q: p → 0"],
        ),
        (
            "shared n, a[2];\nthread grow {\n  n = 5;\n}\nthread use {\n  a[n] = 1;\n}",
            "use read `n` = 5 (line 6), which grow had stored (line 3)",
            &["grow:3: n = 5", "use:6: n → 5"],
        ),
        (
            "mutex m;\ncondvar c;\nthread waiter {\n  lock(m);\n  wait(c, m);\n  unlock(m);\n}\nthread waker {\n  notify(c);\n}",
            "waker notified `c` (line 9) before waiter waited for it (line 5), and nobody does so again",
            &["waker:9: notify c", "waiter:5: wait c, unlock m"],
        ),
        (
            "shared go = 1;\nthread a {\n  go = 0;\n}\nthread b {\n  while go == 0 {}\n}",
            "b waits for `go` to change (line 6), and the last store to it was a's (line 3)",
            &["a:3: go = 0", "b:6: go → 0"],
        ),
        (
            "mutex m;\nthread t {\n  lock(m);\n  lock(m);\n}",
            "t waits for `m` (line 4), which it took itself (line 3)",
            &["t:3: lock m"],
        ),
        (
            "mutex m;\nthread t {\n  lock(m);\n}\nthread u {\n  lock(m);\n}",
            "u waits for `m` (line 6), which t took (line 3) and does not give back",
            &["t:3: lock m"],
        ),
        (
            "shared x;\nthread t {\n  x = 1;\n}\nthread u {\n  let r = x;\n  panic(\"no\");\n}",
            "u read `x` = 0 (line 6), and nobody had stored to it",
            &["u:6: r: x → 0"],
        ),
    ];
    for (program, sentence, events) in told {
        assert_told(program, &parse("p.ut", program.to_string()), MemoryModel::Sc, sentence, events);
    }
}

#[test]
fn a_race_with_a_waiting_store_says_so() {
    let text = "plain message;\nshared ready;\nthread sender {\n  message = 42;\n  ready = 1;\n}\nthread receiver {\n  while ready == 0 {}\n  let m = message;\n}";
    assert_told(
        "mp",
        &parse("mp.ut", text.to_string()),
        MemoryModel::Pso,
        "sender's store to `message` (line 4) was still in its buffer when receiver read `message` (line 9), and nothing orders the two",
        &["sender:4: message = 42", "receiver:9: m: message → 0"],
    );
}

const STORE_BUFFERING: &str = "shared x, y;\nthread left {\n  x = 1;\n  let r = y;\n}\nthread right {\n  y = 1;\n  let r = x;\n}\n\
                               forbidden (left.r == 0 && right.r == 0);";

#[test]
fn what_is_not_an_interleaving_shows_a_cycle_and_what_sc_would_have_done() {
    let program = parse("sb.ut", STORE_BUFFERING.to_string());
    let told = explained(&program, MemoryModel::Tso);
    assert_eq!(told.cycle.len(), 4, "{:?}", told.cycle);
    for (at, edge) in told.cycle.iter().enumerate() {
        assert_eq!(edge.to, told.cycle[(at + 1) % 4].from, "each edge starts where the one before ends");
    }
    let schedule = told.schedule.parse().expect("it is a schedule");
    let sc = sequential(&program, &schedule);
    assert_eq!(sc.outcome, "Under sequential consistency every thread ends, and nothing is wrong");
    assert!(sc.story.steps.iter().any(|step| step.read == Some(1)), "one of them sees the other's store");
}

#[test]
fn an_interleaving_has_no_cycle() {
    let program = parse("lost.ut", "shared x; thread t * 2 { x += 1; } always (x == 2);".to_string());
    assert_eq!(explained(&program, MemoryModel::Sc).cycle, Vec::new());
    assert_eq!(explained(&program, MemoryModel::Pso).cycle, Vec::new());
}

#[test]
fn threads_that_had_no_part_in_it_are_folded() {
    let text = format!("{STORE_BUFFERING}\nshared z;\nthread other {{ z = 1; z = 2; z = 3; }}");
    let told = explained(&parse("sb.ut", text), MemoryModel::Tso);
    let relevant = |name: &str| told.story.steps.iter().any(|step| step.name == name && step.relevant);
    assert!(relevant("left") && relevant("right") && !relevant("other"), "{:#?}", told.story.steps);
}

#[test]
fn who_tried_to_take_a_lock_and_failed_does_not_hold_it() {
    let text = "mutex m; shared x, y;\n\
                thread holder { let r = try_lock(m); x = 1; }\n\
                thread other { while x == 0 {} let r = try_lock(m); y = 1; }\n\
                thread waiter { while y == 0 {} lock(m); }\n";
    let program = parse("try.ut", text.to_string());
    let sentence = "waiter waits for `m` (line 4), which holder took (line 2) and does not give back";
    assert_told("try.ut", &program, MemoryModel::Sc, sentence, &["holder:2: try lock m ok"]);
}

#[test]
fn who_tries_for_ever_is_told_with_what_is_in_the_way() {
    let text = "mutex m;\nthread holder {\n  lock(m);\n}\nthread other {\n  let ok = 0;\n  while ok == 0 { ok = try_lock(m); }\n  unlock(m);\n}";
    let sentence =
        "other tries again and again to take `m` (line 7), which holder took (line 3) and does not give back";
    assert_told("try.ut", &parse("try.ut", text.to_string()), MemoryModel::Sc, sentence, &["holder:3: lock m"]);
    let text = "shared x = 1, y;\nthread a {\n  x = 2;\n}\nthread b {\n  let r = 0;\n  while r != 3 { y += 1; y -= 1; r = x; }\n}";
    let sentence = "b looks again and again at `y` (line 7), and nobody has stored to it yet";
    assert_told("look.ut", &parse("look.ut", text.to_string()), MemoryModel::Sc, sentence, &[]);
}

/// What was wrong in a program under C++20's memory model, and on which machines that shows.
fn told(text: &str) -> (String, Vec<(MemoryModel, bool)>) {
    let (program, options) = (parse("test.ut", text.to_string()), Options::new(MemoryModel::Cpp20));
    let mut report = check(&program, &options, &Unwatched);
    look_elsewhere(&program, &options, &mut report, &Unwatched);
    let first = report.violations.first().unwrap_or_else(|| panic!("nothing is wrong: {text}"));
    (violation(&program, &options, first).sentence, first.machines.clone())
}

#[test]
fn orderings_that_are_too_weak_are_named_with_the_weakest_that_would_do() {
    use MemoryModel::{Pso, Sc, Tso};
    let program = |write: &str, read: &str| {
        format!(
            "shared data, ready;\nthread writer {{ data = 1;\n ready.store(1, {write}); }}\n\
            thread reader {{ let r = ready.load({read});\n if r == 1 {{ assert(data == 1); }} }}"
        )
    };
    let nowhere = vec![(Sc, false), (Tso, false), (Pso, false)];
    let (sentence, machines) = told(&program("release", "relaxed"));
    let expected = "reader read `ready` = 1 (line 4, Relaxed) from writer's Release store (line 3), but a Relaxed load does not \
        synchronise with it: `data` could still be read as 0 (line 5). An `Acquire` load at line 4 would prevent this";
    assert_eq!((sentence.as_str(), machines), (expected, nowhere));
    let (sentence, machines) = told(&program("relaxed", "acquire"));
    let expected = "reader read `ready` = 1 (line 4, Acquire) from writer's Relaxed store (line 3), but it does not \
        synchronise with a Relaxed store: `data` could still be read as 0 (line 5). A `Release` store at line 3 would prevent this";
    assert_eq!((sentence.as_str(), machines), (expected, vec![(Sc, false), (Tso, false), (Pso, true)]));
    let both = told(&program("relaxed", "relaxed")).0;
    assert!(
        both.ends_with("A `Release` store at line 3 and an `Acquire` load at line 4 together would prevent this"),
        "{both}"
    );
}

/// What is advised is true: with it, nothing is wrong any more.
#[test]
fn what_is_advised_helps() {
    let program = |orders: [&str; 4]| {
        let [a, b, c, d] = orders;
        format!(
            "shared x, y, r, s;\nthread a {{ x.store(1, {a});\n r = y.load({b}); }}\nthread b {{ y.store(1, {c});\n s = x.load({d}); }}\n\
            finally {{ assert(r == 1 || s == 1); }}"
        )
    };
    let sentence = told(&program(["seqcst", "acquire", "seqcst", "seqcst"])).0;
    assert!(sentence.ends_with("A `SeqCst` load at line 3 would prevent this"), "{sentence}");
    let fixed = parse("test.ut", program(["seqcst"; 4]));
    assert_eq!(check(&fixed, &Options::new(MemoryModel::Cpp20), &Unwatched).violations, []);
}

#[test]
fn what_a_thread_makes_is_a_plain_write_by_it() {
    let program = |write: &str, read: &str| {
        format!(
            "struct N {{ v }}\nshared head;\nthread maker {{ let n = new N {{ v: 1 }};\n head.store(n, {write}); }}\n\
            thread user {{ let n = head.load({read});\n if n != null {{ let r = n.v; free(n); }} }}"
        )
    };
    for (write, read) in [("relaxed", "acquire"), ("release", "relaxed"), ("relaxed", "relaxed")] {
        let (sentence, _) = told(&program(write, read));
        assert!(sentence.contains("would prevent this"), "{sentence}");
    }
    let right = parse("test.ut", program("release", "acquire"));
    for memory in [MemoryModel::Cpp20, MemoryModel::Rc11] {
        assert_eq!(check(&right, &Options::new(memory), &Unwatched).verdict(), Verdict::Verified, "{memory}");
    }
}
