//! `unthread check`: verdicts as text.

use super::{STORE_BUFFERING, folder, run, unthread, unthread_stdin};
use expect_test::{Expect, expect};

fn check(program: &str, arguments: &[&str], expected: Expect) {
    let run = unthread_stdin(program, &[&["check", "-"], arguments].concat());
    expected.assert_eq(&run.shown());
}

#[test]
fn a_program_without_mistakes_is_verified() {
    check(
        STORE_BUFFERING,
        &["--memory", "sc"],
        expect![[r#"
        exit code 0
        <stdin>: sc: verified: 3 executions, 3 histories, 3 final memories
    "#]],
    );
}

#[test]
fn a_failed_assertion_comes_with_its_place_its_steps_and_a_schedule() {
    check(
        STORE_BUFFERING,
        &[],
        expect![[r#"
            exit code 1
            <stdin>: tso: violation: assertion: both missed the other
             --> <stdin>:5:11
              |
            5 | finally { assert(a + b > 0, "both missed the other"); }
              |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in thread finally

            why: left's store to `x` (line 3) was still in its buffer when right read `x` (line 4)

              step  line  0 left       1 right         2 finally    its store buffer
            ▸    1     3  x = 1                                     [x=1]
                 2     3  r: y → 0                                  [x=1]
                 3     3  a = 0                                     [x=1, a=0]
                 4     4               y = 1 ⇒ memory
            ▸    6     4               r: x → 0
                 7     3  flush x = 1                               [a=0]
                 8     3  flush a = 0
                 9     4               b = 0 ⇒ memory
                11     3  end
                12     4               end
                13     5                               begin
                14     5                               a → 0
                15     5                               b → 0
                16     5                               ✗ assertion

            schedule: 0x3.1.1f.1.0f.0f.1.1f.0.1.2x4
            replay:   unthread replay 0x3.1.1f.1.0f.0f.1.1f.0.1.2x4 - --memory tso

        "#]],
    );
}

#[test]
fn each_memory_model_has_its_headline() {
    let program = "shared x; thread t * 2 { x.fetch_add(1); } always (x == 2);";
    check(
        program,
        &["--memory", "all"],
        expect![[r#"
            exit code 0
            <stdin>: sc: verified: 2 executions, 2 histories, 1 final memory
            <stdin>: tso: verified: 2 executions, 2 histories, 1 final memory
            <stdin>: pso: verified: 2 executions, 2 histories, 1 final memory
            <stdin>: cpp20: verified: 2 executions, 1 final memory
            <stdin>: rc11: verified: 2 executions, 1 final memory
        "#]],
    );
}

#[test]
fn constants_can_be_set() {
    let program = "const N = 1; shared x; thread t * N { x += 1; } always (x == N);";
    check(
        program,
        &[],
        expect![[r#"
            exit code 0
            <stdin>: tso: verified: 1 execution, 1 history, 1 final memory
        "#]],
    );
    assert_eq!(unthread_stdin(program, &["check", "-", "-D", "N=2"]).code, 1);
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    let program = "mutex a, b;\nthread one { lock(a); lock(b); }\nthread two { lock(b); lock(a); }\n";
    check(
        program,
        &["--memory", "sc"],
        expect![[r#"
            exit code 1
            <stdin>: sc: violation: deadlock: two waits for `b`, which one holds
             --> <stdin>:3:14
              |
            3 | thread two { lock(b); lock(a); }
              |              ^^^^^^^ in thread two

            why: two waits for `b` (line 3), which one took (line 2) and does not give back

              step  line  0 one
                 1     2  lock a
            ▸    2     2  lock b
                 3     2  end

            schedule: 0x3
            replay:   unthread replay 0x3 - --memory sc

        "#]],
    );
}

#[test]
fn all_violations_are_numbered() {
    let program = "shared x;\nthread t { let r = x; assert(r == 0); }\nthread u { x = 1; assert(x == 2); }\n";
    check(
        program,
        &["--memory", "sc", "--all-violations"],
        expect![[r#"
            exit code 1
            <stdin>: sc: violation 1 of 2: assertion: x == 2
             --> <stdin>:3:19
              |
            3 | thread u { x = 1; assert(x == 2); }
              |                   ^^^^^^^^^^^^^^ in thread u

            why: u read `x` = 1 (line 3), which it had stored (line 3)

              step  line  1 u
            ▸    1     3  x = 1
            ▸    2     3  x → 1
                 3     3  ✗ assertion

            schedule: 1x3
            replay:   unthread replay 1x3 - --memory sc

            <stdin>: sc: violation 2 of 2: assertion: r == 0
             --> <stdin>:2:23
              |
            2 | thread t { let r = x; assert(r == 0); }
              |                       ^^^^^^^^^^^^^^ in thread t

            why: t read `x` = 1 (line 2), which u had stored (line 3)

              step  line  0 t          1 u
            ▸    1     3               x = 1
                 2     3               x → 1
                 3     3               ✗ assertion
            ▸    4     2  r: x → 1
                 5     2  ✗ assertion

            schedule: 1x3.0x2
            replay:   unthread replay 1x3.0x2 - --memory sc

        "#]],
    );
}

#[test]
fn a_broken_condition_shows_the_values_at_the_end() {
    let program = "shared x, y;\nthread t { x = 1; y = x; }\nthread u { x = 2; }\nforbidden (y == 2 && x == 2);\n";
    check(
        program,
        &["--memory", "sc"],
        expect![[r#"
            exit code 1
            <stdin>: sc: violation: condition: the program can end in a forbidden final state
             --> <stdin>:4:1
              |
            4 | forbidden (y == 2 && x == 2);
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            why: u stored to `x` (line 3) between t's store to it (line 2) and its read (line 2)

              step  line  0 t        1 u
            ▸    1     2  x = 1
            ▸    2     3             x = 2
                 …        … 4 steps
              at the end: y = 2, x = 2

            schedule: 0.1.0x3.1
            replay:   unthread replay 0.1.0x3.1 - --memory sc

        "#]],
    );
}

#[test]
fn an_exists_is_answered_with_a_witness() {
    let program = "shared x;\nthread t { x = 1; }\nthread u { x = 2; }\nexists (x == 1);\nexists (x == 3);\n";
    check(
        program,
        &["--memory", "sc"],
        expect![[r#"
            exit code 0
            <stdin>: sc: verified: 1 execution, 1 history, 2 final memories
            <stdin>:4:1: exists (x == 1): found
            schedule: 1.0x2.1
            replay:   unthread replay 1.0x2.1 - --memory sc
            <stdin>:5:1: exists (x == 3): not found
        "#]],
    );
}

#[test]
fn a_limit_makes_it_inconclusive_and_says_what_to_do() {
    check(
        STORE_BUFFERING,
        &["--memory", "sc", "--max-states", "5"],
        expect![[r#"
        exit code 3
        <stdin>: sc: inconclusive: the limit on states was met (6 states, 0 executions, 0 final memories)
        help: raise `--max-states`, or make the program smaller
    "#]],
    );
    check(
        STORE_BUFFERING,
        &["--memory", "sc", "--max-events", "3"],
        expect![[r#"
        exit code 3
        <stdin>: sc: inconclusive: some executions are longer than allowed (12 states, 0 executions, 0 final memories)
        help: raise `--max-events`, or make the program smaller
    "#]],
    );
    check(
        STORE_BUFFERING,
        &["--memory", "sc", "--max-executions", "1"],
        expect![[r#"
        exit code 3
        <stdin>: sc: inconclusive: the limit of 1 execution was met (61 states, 1 execution, 1 final memory)
        help: raise `--max-executions`, or make the program smaller
    "#]],
    );
    check(
        STORE_BUFFERING,
        &["--memory", "sc", "--max-time", "0"],
        expect![[r#"
            exit code 3
            <stdin>: sc: inconclusive: the time was up (0 executions, 0 histories, 0 final memories)
            help: raise `--max-time`, or make the program smaller
        "#]],
    );
}

#[test]
fn a_program_that_never_ends_is_pointed_out() {
    check(
        "shared x;\nthread t { let r = choose(0..2); assume(r == 2); }\n",
        &["--memory", "sc"],
        expect![[r#"
            exit code 0
            <stdin>: sc: verified: 0 executions, 0 histories, 0 final memories
            note: no execution comes to an end: each goes on for ever, or an `assume` cuts it off
        "#]],
    );
}

#[test]
fn a_race_shows_both_accesses() {
    check(
        "plain d;\nthread one { d = 1; }\nthread two(i) * 2 { let r = d; }\n",
        &["--memory", "sc"],
        expect![[r#"
            exit code 1
            <stdin>: sc: violation: data-race: one and two[0] access `d` at the same time
             --> <stdin>:2:14
              |
            2 | thread one { d = 1; }
              |              ^^^^^^ in thread one
            3 | thread two(i) * 2 { let r = d; }
              |                             - in thread two[0]

            why: nothing orders one's store to `d` (line 2) and two[0]'s read of `d` (line 3)

              step  line  0 one  1 two[0]
            ▸    1     2  d = 1
            ▸    2     3         r: d → 1

            schedule: 0.1
            replay:   unthread replay 0.1 - --memory sc

        "#]],
    );
}

#[test]
fn an_endless_queue_of_stores_names_the_loop_the_store_and_the_flag() {
    let program = "shared x, stop;\nthread t { while stop == 0 {\n    x = 1;\n} }\nthread u { stop = 1; }\n";
    check(
        program,
        &["--max-buffer", "2"],
        expect![[r#"
            exit code 3
            <stdin>: tso: inconclusive: a thread can have more than 2 stores on their way (64 states, 2 executions, 2 final memories)
             --> <stdin>:3:5
              |
            2 | thread t { while stop == 0 {
              |            --------------- in this loop
            3 |     x = 1;
              |     ^^^^^^ this store would have been the next
            help: raise `--max-buffer` (now 2), or let the loop fence or wait
        "#]],
    );
}

#[test]
fn the_most_serious_result_decides_the_exit_code() {
    let folder = folder("most_serious");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("the folder is writable");
    write("good.ut", "shared x; thread t { x = 1; }");
    write("wrong.ut", "thread t { assert(0); }");
    write("endless.ut", "shared x; thread t { loop { x += 1; } }");
    write("broken.ut", "thread");
    let code = |files: &[&str]| run(&[&["check", "--max-states", "100"], files].concat(), "", &folder).code;
    assert_eq!(code(&["good.ut"]), 0);
    assert_eq!(code(&["endless.ut", "good.ut"]), 3);
    assert_eq!(code(&["wrong.ut", "endless.ut", "good.ut"]), 1);
    assert_eq!(code(&["broken.ut", "wrong.ut", "endless.ut", "good.ut"]), 2);
}

#[test]
fn nothing_is_coloured_in_a_pipe_unless_asked_for() {
    let plain = unthread_stdin(STORE_BUFFERING, &["check", "-"]);
    assert!(!plain.out.contains('\x1b'));
    let coloured = unthread_stdin(STORE_BUFFERING, &["check", "-", "--color", "always"]);
    assert!(coloured.out.contains('\x1b'));
    let mistakes = unthread_stdin("thread", &["check", "-"]);
    assert!(!mistakes.err.contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_unthread"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.code().is_some(), "{:?}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn shells_can_complete_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let completions = unthread(&["completions", shell]);
        assert_eq!(completions.code, 0);
        assert!(completions.out.contains("max-buffer") && completions.out.contains("exhaustive"), "{shell}");
    }
}

#[test]
fn a_reader_that_has_gone_does_not_change_the_exit_code() {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_unthread"));
    // Verified under sc, a violation under tso and pso.
    command.args(["check", "-", "--memory", "all"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    drop(child.stdout.take());
    child.stdin.take().expect("it is piped").write_all(STORE_BUFFERING.as_bytes()).expect("it reads");
    let mut error = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut error).expect("it is text");
    assert_eq!((child.wait().expect("it ends").code(), error.as_str()), (Some(1), ""));
}
