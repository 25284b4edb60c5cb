//! `cargo unthread lint`: what a crate uses that a check does not see, and what to write instead.

mod advice;
mod condition;
mod scan;

use anyhow::{Context, bail};
use scan::{Scanned, Use};
use std::path::{Path, PathBuf};
use std::process::Command;
use walkdir::WalkDir;

#[derive(clap::Args)]
pub(crate) struct LintFlags {
    /// The `cfg` with which the crate is checked; what is compiled only without it is left out, as with `loom` and `unthread`
    #[arg(long, default_value = "unthread", value_name = "NAME")]
    cfg: String,
    /// The package whose sources to look at
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,
    /// Look at its tests, too
    #[arg(long)]
    tests: bool,
    /// Files and folders to look at instead of those of the package
    paths: Vec<PathBuf>,
}

/// Prints what was found. Says whether that is nothing.
pub(crate) fn run(flags: &LintFlags) -> anyhow::Result<bool> {
    let roots = if flags.paths.is_empty() { roots(flags)? } else { flags.paths.clone() };
    let files = sources(&roots)?;
    let mut scanned: Vec<(&PathBuf, Scanned)> = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let found = scan::scan(&text, file, &flags.cfg).map_err(|error| {
            let start = error.span().start();
            anyhow::anyhow!("{}:{}:{}: {error}", file.display(), start.line, start.column + 1)
        })?;
        scanned.push((file, found));
    }
    let inactive: Vec<PathBuf> = scanned.iter().flat_map(|(_, found)| found.inactive.clone()).collect();
    let is_active = |file: &Path| !inactive.iter().any(|inactive| file.starts_with(inactive));
    scanned.retain(|(file, _)| is_active(file));
    let n_files = scanned.len();
    scanned.retain(|(_, found)| !found.uses.is_empty());
    for (file, Use { line, column, path, instead }) in
        scanned.iter().flat_map(|(file, found)| found.uses.iter().map(move |it| (file, it)))
    {
        println!("{}:{line}:{column}: `{path}` is not seen by a check; write {instead}", file.display());
    }
    let n_uses: usize = scanned.iter().map(|(_, found)| found.uses.len()).sum();
    println!("{}", conclusion(n_uses, scanned.len(), n_files));
    Ok(n_uses == 0)
}

fn conclusion(n_uses: usize, in_files: usize, of_files: usize) -> String {
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    match n_uses {
        0 => format!("nothing in {} that a check does not see", plural(of_files, "file")),
        n => format!("{} in {} of {} that a check does not see", plural(n, "use"), in_files, plural(of_files, "file")),
    }
}

/// All Rust files, in order.
fn sources(roots: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for root in roots {
        for entry in WalkDir::new(root).sort_by_file_name() {
            let entry = entry?;
            if entry.file_type().is_file() && entry.path().extension().is_some_and(|extension| extension == "rs") {
                files.push(entry.into_path());
            }
        }
    }
    files.dedup();
    if files.is_empty() {
        bail!("there are no Rust files");
    }
    Ok(files)
}

/// The folders with the sources of a package, or of those that cargo works on here.
fn roots(flags: &LintFlags) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let here = list(&metadata["workspace_default_members"]);
    let is_asked_for = |package: &serde_json::Value| match &flags.package {
        Some(name) => package["name"].as_str() == Some(name),
        None => here.contains(&package["id"]),
    };
    let packages: Vec<_> = list(&metadata["packages"]).into_iter().filter(is_asked_for).collect();
    if packages.is_empty() {
        bail!("there is no such package here");
    }
    let kinds: &[&str] = if flags.tests { &["lib", "bin", "test"] } else { &["lib", "bin"] };
    let is_wanted = |target: &serde_json::Value| {
        list(&target["kind"]).iter().any(|kind| kind.as_str().is_some_and(|kind| kinds.contains(&kind)))
    };
    let targets = packages.iter().flat_map(|package| list(&package["targets"])).filter(is_wanted);
    let here = std::env::current_dir()?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for target in targets {
        let path = Path::new(target["src_path"].as_str().context("cargo says where a target is")?);
        let folder = path.parent().context("a file is in a folder")?;
        let folder = folder.strip_prefix(&here).unwrap_or(folder).to_path_buf();
        if !folders.iter().any(|known| folder.starts_with(known)) {
            folders.retain(|known| !known.starts_with(&folder));
            folders.push(folder);
        }
    }
    Ok(folders)
}
