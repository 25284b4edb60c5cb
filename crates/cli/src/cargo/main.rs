//! `cargo unthread test`: runs a crate's tests that are made of `unthread::model`, with the right `cfg`, optimised, and says in one line for each what
//! was covered. `cargo unthread lint`: what a check does not see.

#![forbid(unsafe_code)]

mod lint;

use clap::Parser;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

/// Cargo passes its own name for the subcommand first.
#[derive(Parser)]
#[command(bin_name = "cargo", styles = clap::builder::Styles::plain())]
enum Cargo {
    /// Checks tests of concurrent Rust code
    #[command(subcommand)]
    Unthread(Subcommand),
}

#[derive(clap::Subcommand)]
enum Subcommand {
    /// Run the tests that are made of `unthread::model`
    Test(TestFlags),
    /// List the types of other crates by which threads meet unseen, and what to write instead
    Lint(lint::LintFlags),
}

#[derive(clap::Args)]
struct TestFlags {
    /// The `cfg` that switches from the standard types to checked ones
    #[arg(long, default_value = "unthread", value_name = "NAME")]
    cfg: String,
    /// The memory model
    #[arg(long, value_name = "MODEL", value_parser = ["sc", "tso", "pso"])]
    memory: Option<String>,
    /// Arguments for `cargo test`, and after `--` for the tests
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let Cargo::Unthread(subcommand) = Cargo::parse();
    let outcome = match subcommand {
        Subcommand::Test(flags) => run(&flags),
        Subcommand::Lint(flags) => lint::run(&flags),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(flags: &TestFlags) -> anyhow::Result<bool> {
    let split = flags.arguments.iter().position(|argument| argument == "--").unwrap_or(flags.arguments.len());
    let (for_cargo, for_tests) = flags.arguments.split_at(split);
    let rustflags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["test", "--release"])
        .args(for_cargo)
        .args(["--", "--nocapture", "--test-threads=1"])
        .args(for_tests.iter().skip(1))
        .env("RUSTFLAGS", format!("{rustflags} --cfg {}", flags.cfg).trim_start())
        .env("UNTHREAD_LOG", "1")
        .env("UNTHREAD_COMMAND", command_for_replays(flags))
        .stderr(Stdio::piped())
        .stdout(Stdio::null());
    if let Some(memory) = &flags.memory {
        command.env("UNTHREAD_MEMORY", memory);
    }
    let mut child = command.spawn()?;
    let stderr = child.stderr.take().map(BufReader::new);
    for line in stderr.into_iter().flat_map(|stderr| stderr.split(b'\n')) {
        let line = line?;
        // A line that is written over says how far a check is; what counts comes after it.
        let line = String::from_utf8_lossy(&line);
        println!("{}", line.rsplit('\r').next().unwrap_or_default());
    }
    Ok(child.wait()?.success())
}

/// How one test is run again.
fn command_for_replays(flags: &TestFlags) -> String {
    match flags.cfg.as_str() {
        "unthread" => "cargo unthread test".to_string(),
        cfg => format!("cargo unthread test --cfg {cfg}"),
    }
}
