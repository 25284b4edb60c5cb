//! Every command in the book is run, and prints what the book says. `UPDATE_EXPECT=1` writes what is printed into the book.
//!
//! A chapter has a folder of its own. A block after `<!-- file: NAME -->` is written to that file; in a ```console block, lines that start with `$ `
//! are run by a shell, and the lines after them are their output.

use super::{folder, root, without_seconds};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn chapters() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("the book is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it is readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files
}

#[test]
fn every_command_in_the_book_prints_what_it_says() {
    let mut n_commands = 0;
    for file in chapters() {
        let text = std::fs::read_to_string(&file).expect("it is readable");
        let name = file.file_stem().expect("it has a name").to_string_lossy();
        let folder = folder(&format!("book_{name}"));
        let (printed, commands) = run_chapter(&text, &folder);
        n_commands += commands;
        if std::env::var_os("UPDATE_EXPECT").is_some() && printed != text {
            std::fs::write(&file, &printed).expect("the book is writable");
        } else {
            assert_eq!(text, printed, "{}", file.display());
        }
    }
    assert!(n_commands > 20, "{n_commands} commands");
}

#[test]
fn the_summary_names_every_chapter_and_links_lead_somewhere() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("it is readable");
    for file in chapters() {
        let name = file.file_name().expect("it has a name").to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name} is not in the summary");
        let text = std::fs::read_to_string(&file).expect("it is readable");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(link.starts_with("http") || docs.join(link).exists(), "{name}: {link} leads nowhere");
        }
    }
}

/// The chapter as it should be: with the files written and the commands run.
fn run_chapter(text: &str, folder: &Path) -> (String, usize) {
    let mut printed = String::new();
    let mut n_commands = 0;
    let mut file_name: Option<&str> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let _ = writeln!(printed, "{line}");
        if let Some(name) = line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->")) {
            file_name = Some(name);
        } else if line.starts_with("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if let Some(name) = file_name.take() {
                std::fs::write(folder.join(name), block.join("\n") + "\n").expect("the folder is writable");
            }
            if line == "```console" {
                for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                    let _ = write!(printed, "$ {command}\n{}", output(command, folder));
                    n_commands += 1;
                }
            } else {
                printed.extend(block.iter().flat_map(|line| [line, "\n"]));
            }
            printed += "```\n";
        }
    }
    (printed, n_commands)
}

/// What a command prints, without times.
fn output(command: &str, folder: &Path) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_unthread")).parent().expect("it is in a folder");
    let path = std::env::join_paths(
        std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(folder)
        .env("PATH", path.expect("the path is a path"))
        .output()
        .expect("a shell runs");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let printed: String = text.lines().map(|line| without_seconds(line) + "\n").collect();
    let trimmed = printed.trim_end();
    if trimmed.is_empty() { String::new() } else { format!("{trimmed}\n") }
}
