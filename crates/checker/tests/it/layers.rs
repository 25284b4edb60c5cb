//! The map in ARCHITECTURE.md is true: modules name only what its table allows, there is no cycle, and paths in the text exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// For each module of the checker, the modules that it may name.
type Table = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_WORKSPACE_DIR").expect("cargo sets it: see .cargo/config.toml"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn architecture() -> String {
    read(&root().join("ARCHITECTURE.md"))
}

/// The rows below `| module | may name |`.
fn table() -> Table {
    let text = architecture();
    let rows = text.lines().skip_while(|line| !line.starts_with("| module | may name |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let words = |cell: &str| -> Vec<String> {
        cell.split(',').map(|word| word.trim().trim_matches('`').to_string()).filter(|word| !word.is_empty()).collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        (words(cells[0])[0].clone(), words(cells[1]).into_iter().collect())
    })
    .collect()
}

/// The sources of the checker with the module each belongs to, without their unit tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let folder = root().join("crates/checker/src");
    let files = WalkDir::new(&folder).sort_by_file_name().into_iter().map(|entry| entry.expect("it can be read"));
    let files = files.map(|entry| entry.into_path()).filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files
        .filter_map(|path| {
            let inside = path.strip_prefix(&folder).expect("it is inside").to_path_buf();
            let module = inside.components().next()?.as_os_str().to_str()?.trim_end_matches(".rs").to_string();
            let text = read(&path);
            let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
            (module != "lib").then_some((module, inside, text))
        })
        .collect()
}

/// The modules that a text names by `crate::`.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let after = text.split("crate::").skip(1);
    let mut names: BTreeSet<String> =
        after.clone().map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default().to_string()).collect();
    for group in after.filter_map(|rest| rest.strip_prefix('{')) {
        let group = group.split('}').next().unwrap_or_default();
        names.extend(group.split(',').map(|word| word.trim().split("::").next().unwrap_or_default().to_string()));
    }
    names.remove("");
    names
}

#[test]
fn modules_name_only_what_the_map_allows() {
    let table = table();
    let mut wrong = Vec::new();
    let mut modules = BTreeSet::new();
    for (module, path, text) in sources() {
        let Some(allowed) = table.get(&module) else { panic!("ARCHITECTURE.md has no row for `{module}`") };
        modules.insert(module.clone());
        for name in named(&text).into_iter().filter(|name| table.contains_key(name) && *name != module) {
            if !allowed.contains(&name) {
                wrong.push(format!("{} names `{name}`", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(modules, table.keys().cloned().collect(), "the map has a row for each module and no others");
}

#[test]
fn the_map_has_no_cycle() {
    let table = table();
    let mut placed: BTreeSet<&String> = BTreeSet::new();
    while placed.len() < table.len() {
        let ready = |below: &BTreeSet<String>| below.iter().all(|name| placed.contains(name));
        let next: Vec<&String> =
            table.iter().filter(|(name, below)| !placed.contains(name) && ready(below)).map(|row| row.0).collect();
        assert!(!next.is_empty(), "a cycle among the modules that are not in {placed:?}");
        placed.extend(next);
    }
}

/// Words in backquotes that look like a path of the repository, or of the checker's sources, are there.
#[test]
fn paths_in_the_map_exist() {
    let text = architecture();
    let quoted = text.split('`').skip(1).step_by(2).filter(|word| !word.contains([' ', '\n', '*', '<', '(']));
    let paths = quoted.filter(|word| word.ends_with(".rs") || word.ends_with('/') || word.ends_with(".md"));
    let bases = ["", "crates/checker/src", "crates/checker/tests/it", "crates/unthread/src", "crates/cli", "docs"];
    let exists = |path: &str| bases.iter().any(|base| root().join(base).join(path).exists());
    let missing: Vec<&str> = paths.filter(|path| !exists(path)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
