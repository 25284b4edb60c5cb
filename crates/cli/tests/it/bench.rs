//! `unthread bench`: published tables with our numbers beside them.

use super::{folder, run, unthread};

#[test]
fn published_numbers_stand_beside_ours() {
    // From a folder inside: the corpus is found in one around it.
    let run = run(&["bench", "papers", "--markdown", "--max-time", "0"], "", &folder("bench"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let peterson = "| Peterson | 36 | 95 | 120 | 13 | 18 | 19 | ";
    let row = run.out.lines().find_map(|line| line.strip_prefix(peterson)).expect("the row is there");
    let ours: Vec<&str> =
        row.trim_end_matches('|').split('|').map(|cell| cell.trim().trim_start_matches('>')).collect();
    assert_eq!(ours.len(), 5, "three memory models, time and speed: {row}");
    assert!(ours.iter().all(|cell| cell.parse::<f64>().is_ok()), "{row}");
    assert!(run.out.contains("### Table 4: executions to the first error\n"), "{}", run.out);
    assert!(run.out.contains("| program | ICB | ICB+DPOR | MCR | ours sc | seconds | executions/s |\n"), "{}", run.out);
}

#[test]
fn a_corpus_that_is_not_there_is_bad_input() {
    let run = unthread(&["bench", "papers", "--corpus", "nowhere"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("cannot read nowhere/programs/papers/example.ut"), "{}", run.err);
}

#[test]
fn curves_of_lazy_reachability_stand_beside_what_was_published() {
    let run = run(&["bench", "trencher", "--markdown", "--max-time", "0"], "", &folder("curves"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("| 50 | MEMORAX: 84 s | "), "{}", run.out);
    assert!(run.out.contains("| 20 | CBMC: 515 s | "), "{}", run.out);
}
