//! `unthread bench`: published tables with our numbers beside them.

use super::{folder, root, run, unthread};

#[test]
fn published_numbers_stand_beside_ours() {
    // From a folder inside: the corpus is found in one around it.
    let run = run(&["bench", "papers", "--markdown", "--max-time", "0"], "", &root().join("crates/cli"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let peterson = "| Peterson | 36 | 95 | 120 | 13 | 18 | 19 | ";
    let row = run.out.lines().find_map(|line| line.strip_prefix(peterson)).expect("the row is there");
    let ours: Vec<&str> = row
        .trim_end_matches('|')
        .split('|')
        .map(|cell| cell.trim().trim_start_matches('>').trim_end_matches(" %"))
        .collect();
    assert_eq!(ours.len(), 6, "three memory models, time, speed and the solver's share: {row}");
    assert!(ours.iter().all(|cell| cell.parse::<f64>().is_ok()), "{row}");
    assert!(run.out.contains("### Table 4: executions to the first error\n"), "{}", run.out);
    assert!(
        run.out.contains("| program | ICB | ICB+DPOR | MCR | ours sc | seconds | executions/s | solving |\n"),
        "{}",
        run.out
    );
}

#[test]
fn a_corpus_that_is_not_there_is_bad_input() {
    let run = unthread(&["bench", "papers", "--corpus", "nowhere"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("cannot read nowhere/programs/papers/example.ut"), "{}", run.err);
}

#[test]
fn sizes_are_measured_engine_by_engine_and_drawn() {
    let folder = folder("sizes");
    std::fs::write(
        folder.join("readers.ut"),
        "const N = 1;\nshared x;\nthread w { x = 1; }\nthread r * N { let r = x; }\n",
    )
    .expect("the folder is writable");
    let arguments =
        ["bench", "sizes", "readers.ut", "N=1..4", "--memory", "sc", "--engines", "mcr,dpor", "--html", "plot.html"];
    let run = run(&arguments, "", &folder);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let rows: Vec<Vec<&str>> = run.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let counted = |size: &str, engine: &str| {
        rows.iter().find(|row| row[0] == size && row[1] == engine).map(|row| row[2].to_string())
    };
    let expected = ["2", "4", "8"].map(|count| Some(count.to_string()));
    assert_eq!(["1", "2", "3"].map(|size| counted(size, "mcr")), expected, "{}", run.out);
    let page = std::fs::read_to_string(folder.join("plot.html")).expect("it was written");
    assert!(page.contains(r#"{"name":"mcr","points":[[1.0,2.0],[2.0,4.0],[3.0,8.0]]}"#), "{page}");
}

#[test]
fn a_range_that_is_none_is_bad_input() {
    let run = unthread(&["bench", "sizes", "corpus/programs/dekker.ut", "N=3"]);
    assert!(run.code == 2 && run.err.contains("NAME=LOW..HIGH"), "{}", run.err);
}

#[test]
fn curves_of_lazy_reachability_stand_beside_what_was_published() {
    let run = run(&["bench", "trencher", "--markdown", "--max-time", "0"], "", &root().join("crates/cli"));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("| 50 | MEMORAX: 84 s | "), "{}", run.out);
    assert!(run.out.contains("| 20 | CBMC: 515 s | "), "{}", run.out);
}

#[test]
fn the_largest_size_in_time_stands_beside_the_published_one() {
    let run = unthread(&["bench", "satcheck", "--markdown", "--max-time", "10ms"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let row =
        run.out.lines().find(|line| line.starts_with("| CAS spinlock, threads | 90 | - |")).expect("the row is there");
    let ours: Vec<&str> = row.trim_matches('|').split('|').skip(3).map(str::trim).collect();
    assert_eq!(ours.len(), 3, "one cell per memory model: {row}");
    let is_size = |cell: &str| cell == "-" || cell.split(' ').next().is_some_and(|size| size.parse::<u64>().is_ok());
    assert!(ours.iter().all(|cell| is_size(cell)), "{row}");
}

#[test]
fn every_engine_is_compared_with_the_first() {
    let flags = ["bench", "engines", "satcheck", "--markdown", "--memory", "sc", "--engines", "mcr,cumulative,auto"];
    let run = unthread(&[&flags[..], &["--max-time", "200ms"]].concat());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let header = "| program | memory | mcr | cumulative | auto | mcr/cumulative | mcr/auto |";
    assert_eq!(run.out.lines().next(), Some(header), "{}", run.out);
    assert!(run.out.contains("| satcheck/seqlock N=2 | sc | "), "{}", run.out);
    for engine in ["cumulative", "auto"] {
        let is_summary = |line: &str| {
            line.starts_with(&format!("{engine}, satcheck: "))
                && line.contains("times faster than mcr (geometric mean of")
        };
        assert!(run.out.lines().any(is_summary), "{}", run.out);
    }
}
