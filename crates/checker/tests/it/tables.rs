//! Engines, memory models and front ends are tables: no other place lists them, and documents have a row for each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::{FRONT_ENDS, FrontEnd};
use unthread_checker::search::Engine;
use walkdir::WalkDir;

fn root() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_WORKSPACE_DIR").expect("cargo sets it: see .cargo/config.toml"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// For each source of the checker and of the commands, without unit tests: what it names of a table, after this prefix.
fn named(prefix: &str, table: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut named = BTreeMap::new();
    for folder in ["crates/checker/src", "crates/cli/src"] {
        let files =
            WalkDir::new(root().join(folder)).into_iter().map(|entry| entry.expect("it can be read").into_path());
        for path in files.filter(|path| path.extension().is_some_and(|end| end == "rs")) {
            let path = path.strip_prefix(root()).expect("it is inside").to_str().expect("it is text").to_string();
            let text = read(&path);
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let word =
                |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_string();
            let names = text.split(prefix).skip(1).map(word);
            // Variants are capitalised and not all in capitals; the rest are functions and constants.
            let names = names.filter(|name| name.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase()));
            let names: BTreeSet<String> = names.filter(|name| name.starts_with(char::is_uppercase)).collect();
            if !names.is_empty() && path != table {
                named.insert(path, names);
            }
        }
    }
    named
}

fn pairs(expected: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
    let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    expected.iter().map(|(path, names)| (path.to_string(), set(names))).collect()
}

/// Where an engine is named outside of the table, it is that engine that is meant. A list of engines would be a second table.
#[test]
fn engines_are_named_where_one_of_them_is_meant() {
    let expected = pairs(&[
        // Which engines take turns.
        ("crates/checker/src/engines/auto.rs", &["Exhaustive", "Cumulative", "Mcr"]),
        // Questions that are asked of one engine.
        ("crates/checker/src/engines/learning/cumulative/compare.rs", &["Cumulative"]),
        ("crates/checker/src/engines/learning/cumulative/cycles.rs", &["Cumulative"]),
        ("crates/checker/src/engines/mod.rs", &["Mcr", "Dpor", "Icb", "Graph"]),
        // Whether another memory model has the violation, too.
        ("crates/checker/src/engines/elsewhere.rs", &["Auto"]),
        // In which order graphs are built under the language's memory models.
        ("crates/checker/src/engines/graph/mod.rs", &["Exhaustive", "Random", "Pct"]),
        ("crates/checker/src/engines/monitored.rs", &["Dpor", "Icb"]),
        ("crates/checker/src/robustness/fences.rs", &["Exhaustive", "Lazy"]),
        // A default, and the engine that builds graphs under every memory model.
        ("crates/checker/src/search/options.rs", &["Exhaustive", "Graph"]),
        // Benchmarks of published tables.
        ("crates/cli/src/bench/lazy.rs", &["Lazy"]),
        ("crates/cli/src/bench/measure.rs", &["Mcr"]),
        ("crates/cli/src/bench/sober.rs", &["Icb"]),
        // Defaults, and the flags that are parameters.
        ("crates/cli/src/flags.rs", &["Auto", "Dpor", "Icb", "Random", "Pct"]),
    ]);
    assert_eq!(named("Engine::", "crates/checker/src/search/engine.rs"), expected);
}

#[test]
fn memory_models_are_named_where_one_of_them_is_meant() {
    let table = "crates/checker/src/execution/memory/mod.rs";
    let lists: Vec<_> = named("MemoryModel::", table).into_iter().filter(|(_, names)| names.len() > 2).collect();
    assert_eq!(lists, []);
}

/// The engines at the beginnings of the rows of a document's table.
fn rows(document: &str) -> BTreeSet<String> {
    let text = read(document);
    let rows = text.lines().skip_while(|line| !line.starts_with("| `--engine` |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_start_matches('|').split('|').next().unwrap_or_default().to_string());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>());
    let first = |name: String| name.split(' ').next().unwrap_or_default().to_string();
    quoted.map(first).filter(|name| name != "unthread").collect()
}

#[test]
fn documents_have_a_row_for_each_engine() {
    let engines: BTreeSet<String> = Engine::ALL.iter().map(Engine::to_string).collect();
    for document in ["README.md", "docs/engines.md"] {
        assert_eq!(rows(document), engines, "{document}");
    }
}

#[test]
fn names_of_engines_and_memory_models_can_be_read() {
    for engine in Engine::ALL {
        assert_eq!(engine.name().parse(), Ok(engine));
    }
    for memory in MemoryModel::ALL {
        assert_eq!(memory.name().parse(), Ok(memory));
    }
}

#[test]
fn each_extension_belongs_to_one_front_end() {
    let extensions = FRONT_ENDS.iter().flat_map(|front_end| front_end.extensions);
    let mut seen = BTreeSet::new();
    for &extension in extensions {
        assert!(seen.insert(extension), "{extension}");
        let found = FrontEnd::of(extension, "").expect("the extension is known");
        assert!(found.extensions.contains(&extension));
    }
    let folders = std::fs::read_dir(root().join("crates/checker/src/frontend")).expect("it is there");
    let folders = folders.filter(|entry| entry.as_ref().expect("it can be read").path().is_dir()).count();
    assert_eq!(folders, FRONT_ENDS.len(), "each front end is a folder");
}
