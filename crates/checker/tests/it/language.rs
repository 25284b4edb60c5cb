//! The program language against its documentation, its corpus, and the machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use unthread_checker::base::{Diagnostic, Source, Verdict};
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Options, Unwatched};

fn workspace(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_WORKSPACE_DIR")).join(path)
}

fn parse(name: &str, text: &str) -> Result<Program, Vec<Diagnostic>> {
    ut::parse(Arc::new(Source::new(name, text)), &BTreeMap::new())
}

/// The verdict under SC, with what went wrong.
fn verdict(text: &str) -> (Verdict, Vec<String>) {
    let program = parse("test.ut", text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:#?}"));
    let report = check(&program, &Options::new(MemoryModel::Sc), &Unwatched);
    (report.verdict(), report.violations.iter().map(|violation| violation.message.clone()).collect())
}

#[test]
fn every_example_of_the_documentation_is_a_program() {
    let document = std::fs::read_to_string(workspace("docs/language.md")).unwrap();
    let examples: Vec<&str> =
        document.split("```ut\n").skip(1).map(|rest| rest.split("```").next().unwrap_or("")).collect();
    assert!(examples.len() >= 10, "{} examples", examples.len());
    for example in examples {
        parse("example.ut", example).unwrap_or_else(|mistakes| panic!("{example}\n{mistakes:#?}"));
        ut::expectations(example).unwrap_or_else(|mistakes| panic!("{example}\n{mistakes:#?}"));
    }
}

/// One thread, so what it asserts is what the language means.
const MEANINGS: &[(&str, &str)] = &[
    ("fn f(a) { a += 1; return a; } main { let r = 1; assert(f(r) + f(f(r)) == 5); assert(r == 1); }", "by value"),
    (
        "fn f(n) { for i in 0..n { if i == 3 { return i; } } return -1; } main { assert(f(9) == 3 && f(2) == -1); }",
        "return",
    ),
    (
        "shared x = 1; fn f() { x += 1; return x; } main { assert(f() * 10 + f() == 23); assert(x == 3); }",
        "left to right",
    ),
    (
        "shared x; fn set() { x = 1; return 1; } main { let r = 0 && set(); assert(!r && x == 0); r = 1 || set(); assert(r && !x); }",
        "short circuit",
    ),
    (
        "shared x; fn set() { x = 1; return 7; } main { assert((1 && set()) == 1 && x == 1); }",
        "short circuit evaluates",
    ),
    (
        "main { let s = 0; for i in 0..4 { if i == 2 { continue; } s = s * 10 + i; } assert(s == 13); }",
        "continue counts on",
    ),
    ("main { let n = 3; let k = 0; for i in 0..n { n = 10; k += 1; } assert(k == 3); }", "bounds once"),
    ("main { let i = 2; let k = 0; for i in i..i + 2 { k += i; } assert(k == 5 && i == 2); }", "loop variable hides"),
    (
        "main { let r = 1; { let r = r + 1; assert(r == 2); } assert(r == 1); let r = r + 5; assert(r == 6); }",
        "shadowing",
    ),
    ("main { let k = 0; while k < 3 { let r = 0; r += 1; assert(r == 1); k += 1; } }", "let starts afresh"),
    (
        "main { let k = 0; loop { loop { k += 1; break; } if k == 3 { break; } } assert(k == 3); }",
        "break leaves one loop",
    ),
    (
        "shared x = 5; main { assert(x.cas(5, 6)); assert(!x.cas(5, 7)); assert(x.compare_exchange(6, 8) == 6 && x == 8); }",
        "cas",
    ),
    (
        "shared x = 5; main { let r = 5; r = x.cas(r, 1); assert(r == 1); r = 9; r = x.compare_exchange(r, 2); assert(r == 1); }",
        "cas into its operand",
    ),
    (
        "shared x = 6; main { assert(x.fetch_sub(1) == 6); assert(x.swap(3) == 5); assert(x.fetch_nand(2) == 3); assert(x == ~2); }",
        "rmw",
    ),
    ("shared a[3] = [1, 2, 0]; main { a[a[a[0]]] += 5; assert(a[0] == 1 && a[2] == 5); }", "nested index"),
    (
        "struct N { v, next } main { let p = new N { v: 1 }; p = new N { v: 2, next: p }; assert(p.v == 2 && p.next.v == 1 && p.next.next == null); }",
        "heap",
    ),
    (
        "struct N { v, next } shared h; main { h = new N { v: 3 }; let n = h; n.next = n; assert(h.next.next.v == 3); }",
        "shared pointer",
    ),
    ("fn f(a, b) { return a - b; } main { let a = 7; let b = 2; assert(f(b, a) == -5); }", "arguments by place"),
    (
        "fn g(a) { let t = a * 2; return t; } fn f(a) { return g(a) + g(a + 1); } main { assert(f(1) == 6); assert(g(1) + g(2) + g(3) == 12); }",
        "calls in calls",
    ),
    (
        "fn f(a) { while a < 10 { a += 3; } return a; } main { let r = 0; r = f(r) + f(r + 1); assert(r == 22); }",
        "assigned parameter",
    ),
    (
        "fn f(i) { if i { return; } panic(\"reached\"); } main { f(1); return; panic(\"reached\"); }",
        "return without value",
    ),
    (
        "fn max(a, b) { if a > b { return a; } else { return b; } } main { let r = 3; r = max(r, max(5, r)); assert(r == 5); }",
        "both sides return",
    ),
    ("mutex m; main { assert(try_lock(m)); assert(!try_lock(m)); unlock(m); lock(m); }", "try_lock"),
    ("main { let r = choose(0..3); assert(r >= 0 && r < 3); let s = choose(r..r + 1); assert(s == r); }", "choose"),
    (
        "shared x; main { if x == 0 && !(x == 1 || x == 2) { x = 5; } else { panic(\"no\"); } assert(x == 5); }",
        "conditions",
    ),
    (
        "shared x; thread w(i) { x.fetch_add(i); } main { let s = 0; for i in 1..4 { let h = fork w(i); join h; } assert(x == 6); }",
        "fork and join",
    ),
    ("shared x; main { x = 3; } finally { x += 1; assert(x == 4); } always (x == 4);", "finally"),
    (
        "main { let r = 4; let t = 0; if r > 3 { let q = 1; t += q; } else { let q = 2; t += q; } let q = 9; assert(t == 1 && q == 9); }",
        "blocks",
    ),
];

#[test]
fn programs_mean_what_the_documentation_says() {
    for (text, what) in MEANINGS {
        assert_eq!(verdict(text), (Verdict::Verified, vec![]), "{what}: {text}");
    }
}

#[test]
fn assertions_that_do_not_hold_are_found() {
    for (text, message) in [
        ("shared x = 1; thread t { assert(x == 2); }", "x == 2"),
        ("thread t { let r = choose(0..3); assert(r != 2, \"two\"); }", "two"),
        ("shared x; thread a { x += 1; } thread b { x += 1; } finally { assert(x == 2, \"lost\"); }", "lost"),
    ] {
        let (verdict, violations) = verdict(text);
        assert_eq!(verdict, Verdict::Violation, "{text}");
        assert!(violations[0].contains(message), "{violations:?}");
    }
}
