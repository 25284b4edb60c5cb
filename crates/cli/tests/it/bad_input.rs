//! What is not right in files, flags and schedules is said clearly, with exit code 2.

use super::{STORE_BUFFERING, folder, run, unthread, unthread_stdin};
use expect_test::{Expect, expect};

fn refused(program: &str, arguments: &[&str], expected: Expect) {
    let run = unthread_stdin(program, arguments);
    expected.assert_eq(&run.shown());
    assert_eq!((run.code, run.out.as_str()), (2, ""));
}

#[test]
fn a_missing_file_is_named() {
    refused(
        "",
        &["check", "missing.ut"],
        expect![[r#"
        exit code 2
        stderr: error: cannot read missing.ut: No such file or directory (os error 2)
    "#]],
    );
}

#[test]
fn a_file_of_another_kind_is_refused() {
    refused(
        "",
        &["check", "Cargo.toml"],
        expect![[r#"
            exit code 2
            stderr: error: Cargo.toml: neither a program (.ut), nor a litmus test (.litmus), nor an automaton (.trencher, .txt)
        "#]],
    );
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    let folder = folder("no_text");
    std::fs::write(folder.join("latin.ut"), b"shared x;\nthread t { x = 1; } // \xfc\n").expect("writable");
    let run = run(&["check", "latin.ut"], "", &folder);
    assert_eq!((run.code, run.err.as_str()), (2, "error: latin.ut:2: this line is not UTF-8 text\n"));
}

#[test]
fn a_byte_order_mark_and_other_line_ends_are_no_mistakes() {
    assert_eq!(unthread_stdin("\u{feff}shared x;\r\nthread t { x = 1; }\r\n", &["check", "-"]).code, 0);
}

#[test]
fn a_wrong_size_is_one_mistake() {
    let run =
        unthread_stdin("const N = 2; shared a[N] = [1, 2]; thread t { a[0] = 1; }", &["check", "-", "-D", "N=-1"]);
    assert!(run.err.ends_with("error: 1 mistake in <stdin>\n"), "{}", run.err);
    assert_eq!(unthread(&["check", "-", "-D", "=3"]).code, 2);
}

#[test]
fn every_mistake_in_a_program_is_shown() {
    let program = "shared x = 0;\nthread t {\n    x = y;\n    lock(m);\n}\nthread u { xx = 1; }\n";
    refused(
        program,
        &["check", "-"],
        expect![[r#"
        exit code 2
        stderr: error: unknown variable `y`
        stderr:  --> <stdin>:3:9
        stderr:   |
        stderr: 3 |     x = y;
        stderr:   |         ^ not declared
        stderr:   |
        stderr:   = help: declare it: `shared y = 0;` for all threads, or `let y = 0;` for this one
        stderr: 
        stderr: error: this is not a mutex
        stderr:  --> <stdin>:4:10
        stderr:   |
        stderr: 4 |     lock(m);
        stderr:   |          ^ not a mutex
        stderr:   |
        stderr:   = help: declare it: `mutex m;`
        stderr: 
        stderr: error: unknown variable `xx`
        stderr:  --> <stdin>:6:12
        stderr:   |
        stderr: 6 | thread u { xx = 1; }
        stderr:   |            ^^ not declared
        stderr:   |
        stderr:   = help: did you mean `x`?
        stderr: 
        stderr: error: 3 mistakes in <stdin>
    "#]],
    );
}

#[test]
fn constants_must_be_numbers_and_exist() {
    refused(
        STORE_BUFFERING,
        &["check", "-", "-D", "N=four"],
        expect![[r#"
        exit code 2
        stderr: error: invalid value 'N=four' for '-D <NAME=VALUE>': `four` is not an integer
        stderr: 
        stderr: For more information, try '--help'.
    "#]],
    );
    refused(
        STORE_BUFFERING,
        &["check", "-", "-D", "N"],
        expect![[r#"
        exit code 2
        stderr: error: invalid value 'N' for '-D <NAME=VALUE>': expected NAME=VALUE, such as N=4
        stderr: 
        stderr: For more information, try '--help'.
    "#]],
    );
    refused(
        STORE_BUFFERING,
        &["check", "-", "-D", "N=4"],
        expect![[r#"
        exit code 2
        stderr: error: there is no constant `N` to set
        stderr:  --> <stdin>:1:1
        stderr:   |
        stderr: 1 | shared x = 0, y = 0;
        stderr:   | ^ not declared in this file
        stderr:   |
        stderr:   = help: the program declares no constants
        stderr: 
        stderr: error: 1 mistake in <stdin>
    "#]],
    );
}

#[test]
fn unknown_engines_and_memory_models_list_the_known_ones() {
    refused(
        "",
        &["check", "-", "--engine", "magic"],
        expect![[r#"
            exit code 2
            stderr: error: invalid value 'magic' for '--engine <ENGINE>'
            stderr:   [possible values: auto, exhaustive, cumulative, mcr, dpor, graph, lazy, icb, random, pct]
            stderr: 
            stderr: For more information, try '--help'.
        "#]],
    );
    refused(
        "",
        &["check", "-", "--memory", "arm"],
        expect![[r#"
        exit code 2
        stderr: error: invalid value 'arm' for '--memory <MEMORY>'
        stderr:   [possible values: sc, tso, pso, cpp20, rc11, all]
        stderr: 
        stderr: For more information, try '--help'.
    "#]],
    );
}

#[test]
fn a_schedule_that_is_none_is_explained() {
    refused(
        "",
        &["replay", "zero", "-"],
        expect![[r#"
        exit code 2
        stderr: error: invalid value 'zero' for '<SCHEDULE>': `zero` is not a step; steps look like 0, 0x3, 1f, 1f2 or 2c5, joined by dots
        stderr: 
        stderr: For more information, try '--help'.
    "#]],
    );
}

#[test]
fn a_schedule_that_does_not_fit_names_the_step_and_the_possible_ones() {
    refused(
        STORE_BUFFERING,
        &["replay", "0x2.1.1f1", "-"],
        expect![[r#"
            exit code 2
            stderr: error: the schedule does not fit <stdin> under tso: step 4 (`1f1`) is not possible there; possible: 0, 0f, 1, 1f
        "#]],
    );
}

#[test]
fn a_buffer_without_room_is_refused() {
    assert_eq!(unthread(&["check", "-", "--max-buffer", "0"]).code, 2);
}

#[test]
fn flags_that_say_nothing_to_the_engine_are_refused() {
    let program = "shared x; thread t { x = 1; }";
    let cases: [(&[&str], &str); 7] = [
        (&["--preemptions", "2"], "`--preemptions` says nothing to engine `auto`: it needs `--engine icb`"),
        (&["--engine", "dpor", "--traces"], "`--traces` says nothing to engine `dpor`: it needs `--engine icb`"),
        (&["--seed", "1"], "`--seed` says nothing to engine `auto`: it needs `--engine random` or `--engine pct`"),
        (&["--engine", "random", "--depth", "3"], "`--depth` says nothing to engine `random`: it needs `--engine pct`"),
        (&["--engine", "icb", "--jobs", "2"], "`--jobs` says nothing to engine `icb`"),
        (&["--predict", "--preemptions", "2"], "`--preemptions` says nothing to `--predict`"),
        (&["--monitor", "store-buffers", "--seed", "2"], "`--seed` says nothing to engine `dpor`"),
    ];
    for (flags, complaint) in cases {
        let run = unthread_stdin(program, &[&["check", "-"], flags].concat());
        assert!(run.code == 2 && run.err.contains(complaint), "{flags:?}: {}: {}", run.code, run.err);
    }
    for flags in [&["--engine", "icb", "--preemptions", "2", "--traces"][..], &["--engine", "mcr", "--jobs", "2"]] {
        assert_eq!(unthread_stdin(program, &[&["check", "-"], flags].concat()).code, 0, "{flags:?}");
    }
}

#[test]
fn limits_that_are_none_are_refused() {
    for (flags, complaint) in [
        (["--max-time", "99999999999999999999h"], "that is more than a hundred years; leave it out for no limit"),
        (["--max-time", "soon"], "`soon` is not a unit of time"),
        (["--max-memory", "much"], "is not a unit of memory; there are K, M, G and T"),
        (["--max-memory", "9999999T"], "that is more than there can be"),
    ] {
        let run = unthread(&[&["check", "-"], &flags[..]].concat());
        assert!(run.code == 2 && run.err.contains(complaint), "{flags:?}: {}: {}", run.code, run.err);
    }
}

#[test]
fn an_empty_schedule_is_refused_unless_it_shows_something() {
    let run = unthread_stdin("shared x; thread t { x = 1; }", &["replay", "", "-"]);
    assert!(run.code == 2 && run.err.contains("the schedule is empty"), "{}: {}", run.code, run.err);
    let racy = "plain x; thread a { x = 1; } thread b { x = 2; }";
    assert_eq!(unthread_stdin(racy, &["replay", "", "-"]).code, 1);
}

#[test]
fn a_mistake_in_an_automaton_has_its_place() {
    let folder = folder("automata");
    let automaton = "memory_size 4\nthread t\ninitial a\ntransition a b write 1 0\nend\n";
    for name in ["right.txt", "right.trencher"] {
        std::fs::write(folder.join(name), automaton).expect("writable");
        assert_eq!(run(&["check", name], "", &folder).code, 0, "{name}");
    }
    // Whichever word is missing or twice: where that is a mistake, it has a line.
    let words: Vec<&str> = automaton.split_inclusive([' ', '\n']).collect();
    for at in 0..words.len() {
        for variant in [[&words[..at], &words[at + 1..]].concat(), [&words[..=at], &words[at..]].concat()] {
            std::fs::write(folder.join("wrong.txt"), variant.concat()).expect("writable");
            let run = run(&["check", "wrong.txt"], "", &folder);
            let has_place = run.err.contains(" --> wrong.txt:");
            assert!(run.code == 0 || (run.code == 2 && has_place), "{}: {}", variant.concat(), run.err);
        }
    }
}
