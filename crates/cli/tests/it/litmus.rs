//! `unthread litmus`.

use super::{folder, run};
use expect_test::expect;
use std::path::PathBuf;

const SB: &str = "\
X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\\ 1:EAX=0)
";

const MP: &str = "\
X86 MP
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV EAX,[y] ;
 MOV [y],$1  | MOV EBX,[x] ;
~exists (1:EAX=1 /\\ 1:EBX=0)
";

/// A folder with two tests, one of them deeper.
fn tests(name: &str) -> PathBuf {
    let folder = folder(name);
    std::fs::create_dir(folder.join("deeper")).expect("the folder is writable");
    std::fs::write(folder.join("sb.litmus"), SB).expect("the folder is writable");
    std::fs::write(folder.join("deeper/mp.litmus"), MP).expect("the folder is writable");
    std::fs::write(folder.join("notes.txt"), "not a test").expect("the folder is writable");
    folder
}

#[test]
fn one_test_is_shown_under_all_memory_models_side_by_side() {
    expect![[r#"
        exit code 0
        Test SB Allowed
                              sc     tso        pso
        *  0:EAX=0; 1:EAX=0;  -      yes        yes
           0:EAX=0; 1:EAX=1;  yes    yes        yes
           0:EAX=1; 1:EAX=0;  yes    yes        yes
           0:EAX=1; 1:EAX=1;  yes    yes        yes
           States             3      4          4
           Observation        Never  Sometimes  Sometimes
           Verdict            No     Ok         Ok
        Condition exists (0:EAX=0 /\ 1:EAX=0)
    "#]]
    .assert_eq(&run(&["litmus", "sb.litmus"], "", &tests("side_by_side")).shown());
}

#[test]
fn one_memory_model_is_shown_as_herd_does() {
    expect![[r#"
        exit code 0
        Test SB Allowed
        States 4
        0:EAX=0; 1:EAX=0;
        0:EAX=0; 1:EAX=1;
        0:EAX=1; 1:EAX=0;
        0:EAX=1; 1:EAX=1;
        Ok
        Witnesses
        Positive: 1 Negative: 3
        Condition exists (0:EAX=0 /\ 1:EAX=0)
        Observation SB Sometimes 1 3
    "#]]
    .assert_eq(&run(&["litmus", "sb.litmus", "--memory", "tso"], "", &tests("herd")).shown());
}

#[test]
fn a_folder_is_summarized() {
    expect![[r#"
        exit code 0
        Test                sc            tso               pso
        ./deeper/mp.litmus  Ok Never 0/3  Ok Never 0/3      No Sometimes 1/4
        ./sb.litmus         No Never 0/3  Ok Sometimes 1/4  Ok Sometimes 1/4
        2 tests             1 Ok          2 Ok              1 Ok
    "#]]
    .assert_eq(&run(&["litmus", "."], "", &tests("summary")).shown());
}

#[test]
fn json_has_an_object_per_file_and_memory_model() {
    expect![[r#"
        exit code 0
        {"file":"sb.litmus","name":"SB","memory":"sc","states":["0:EAX=0; 1:EAX=1;","0:EAX=1; 1:EAX=0;","0:EAX=1; 1:EAX=1;"],"verdict":"No","observation":"Never","positive":0,"negative":3,"stop":"exhausted","failures":[],"race":false}
        {"file":"sb.litmus","name":"SB","memory":"tso","states":["0:EAX=0; 1:EAX=0;","0:EAX=0; 1:EAX=1;","0:EAX=1; 1:EAX=0;","0:EAX=1; 1:EAX=1;"],"verdict":"Ok","observation":"Sometimes","positive":1,"negative":3,"stop":"exhausted","failures":[],"race":false}
        {"file":"sb.litmus","name":"SB","memory":"pso","states":["0:EAX=0; 1:EAX=0;","0:EAX=0; 1:EAX=1;","0:EAX=1; 1:EAX=0;","0:EAX=1; 1:EAX=1;"],"verdict":"Ok","observation":"Sometimes","positive":1,"negative":3,"stop":"exhausted","failures":[],"race":false}
    "#]].assert_eq(&run(&["litmus", "--json", "sb.litmus"], "", &tests("json")).shown());
}

#[test]
fn a_search_that_did_not_end_has_no_verdict() {
    let folder = tests("unfinished");
    let run = |arguments: &[&str]| run(&[&["litmus", "--max-states", "40"], arguments].concat(), "", &folder).shown();
    expect![[r#"
        exit code 3
        sb.litmus: tso: inconclusive: the limit on states was met; raise `--max-states`, or make the program smaller
        sb.litmus: pso: inconclusive: the limit on states was met; raise `--max-states`, or make the program smaller
        Test SB Allowed
                           sc
        0:EAX=0; 1:EAX=1;  yes
        0:EAX=1; 1:EAX=0;  yes
        0:EAX=1; 1:EAX=1;  yes
        States             3
        Observation        Never
        Verdict            No
        Condition exists (0:EAX=0 /\ 1:EAX=0)
    "#]]
    .assert_eq(&run(&["sb.litmus"]));
    expect![[r#"
        exit code 3
        sb.litmus: tso: inconclusive: the limit on states was met; raise `--max-states`, or make the program smaller
    "#]]
    .assert_eq(&run(&["sb.litmus", "--memory", "tso"]));
    expect![[r#"
        exit code 3
        Test                sc            tso           pso
        ./deeper/mp.litmus  Ok Never 0/3  inconclusive  inconclusive
        ./sb.litmus         No Never 0/3  inconclusive  inconclusive
        2 tests             1 Ok          0 Ok          0 Ok
    "#]]
    .assert_eq(&run(&["."]));
    expect![[r#"
        exit code 3
        {"file":"sb.litmus","name":"SB","memory":"tso","states":[],"verdict":null,"observation":null,"positive":0,"negative":0,"stop":"state-limit","failures":[],"race":null}
    "#]].assert_eq(&run(&["sb.litmus", "--memory", "tso", "--json"]));
}

#[test]
fn a_broken_file_does_not_stop_the_others() {
    let folder = tests("broken");
    std::fs::write(folder.join("bad.litmus"), "X86 bad\n{ }\n P0 ;\n JUMP ;\nexists (0:EAX=0)\n").expect("writable");
    let run = run(&["litmus", ".", "--memory", "sc"], "", &folder);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("bad.litmus") && run.err.ends_with("error: 1 mistake in ./bad.litmus\n"), "{}", run.err);
    assert!(run.out.contains("Test SB Allowed") && run.out.contains("Test MP Forbidden"), "{}", run.out);
}

#[test]
fn executions_without_a_final_state_are_told() {
    let folder = folder("no_end");
    let text = "X86 stray\n{ 0:EBX=x; }\n P0 ;\n MOV EAX,[EBX+8] ;\nexists (0:EAX=0)\n";
    std::fs::write(folder.join("stray.litmus"), text).expect("writable");
    let told = run(&["litmus", "stray.litmus", "--memory", "tso"], "", &folder);
    assert!(
        told.err.contains("warning: stray.litmus: tso: some executions do not come to a final state"),
        "{}",
        told.err
    );
    let told = run(&["litmus", "stray.litmus", "--memory", "tso", "--json"], "", &folder);
    assert!(told.out.contains(r#""failures":["invalid-pointer: "#), "{}", told.out);
}

#[test]
fn data_races_are_told() {
    let folder = folder("race");
    let text = "C race\n{}\nP0(int *x) { *x = 1; }\nP1(int *x) { int r = *x; }\nexists (1:r=0)\n";
    std::fs::write(folder.join("race.litmus"), text).expect("writable");
    let told = run(&["litmus", "race.litmus", "--memory", "sc"], "", &folder);
    assert!(told.err.contains("warning: race.litmus: sc: data race: "), "{}", told.err);
    let told = run(&["litmus", "race.litmus", "--memory", "sc", "--json"], "", &folder);
    assert!(told.out.contains(r#""failures":[],"race":true}"#), "{}", told.out);
}

#[test]
fn tests_in_c_have_the_languages_memory_models_too() {
    let folder = tests("language");
    let iriw = "C iriw\n{}\nP0(atomic_int *x) { atomic_store_explicit(x, 1, memory_order_relaxed); }\n\
        P1(atomic_int *y) { atomic_store_explicit(y, 1, memory_order_relaxed); }\n\
        P2(atomic_int *x, atomic_int *y) { int r = atomic_load(x); int s = atomic_load(y); }\n\
        P3(atomic_int *x, atomic_int *y) { int r = atomic_load(y); int s = atomic_load(x); }\n\
        exists (2:r=1 /\\ 2:s=0 /\\ 3:r=1 /\\ 3:s=0)\n";
    std::fs::write(folder.join("iriw.litmus"), iriw).expect("writable");
    expect![[r#"
        exit code 0
        Test         sc             tso               pso               cpp20          rc11
        iriw.litmus  No Never 0/15  No Never 0/15     No Never 0/15     No Never 0/15  Ok Sometimes 1/16
        sb.litmus    No Never 0/3   Ok Sometimes 1/4  Ok Sometimes 1/4  -              -
        2 tests      0 Ok           1 Ok              1 Ok              0 Ok           1 Ok
    "#]]
    .assert_eq(&run(&["litmus", "iriw.litmus", "sb.litmus"], "", &folder).shown());
    let told = run(&["litmus", "sb.litmus", "--memory", "rust"], "", &folder);
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains("sb.litmus: cpp20 is a memory model of the language, and this test is in X86"),
        "{}",
        told.err
    );
}

#[test]
fn both_engines_say_the_same_of_litmus_tests() {
    let folder = tests("engines");
    let text = |engine: &str| run(&["litmus", ".", "--engine", engine], "", &folder).shown();
    assert_eq!(text("exhaustive"), text("mcr"));
}

#[test]
fn a_folder_without_tests_is_bad_input() {
    let folder = folder("no_tests");
    assert_eq!(run(&["litmus", "."], "", &folder).code, 2);
}

#[test]
fn check_judges_the_condition_of_a_litmus_test() {
    let folder = tests("judged");
    let code = |memory: &str| run(&["check", "deeper/mp.litmus", "--memory", memory], "", &folder).code;
    assert_eq!([code("sc"), code("tso"), code("pso")], [0, 0, 1]);
}
