//! The `unthread` command: checks program files, runs litmus tests, replays schedules.
//!
//! Everything that knows files, flags, clocks and terminals is here; what is true is decided in the checker.

#![forbid(unsafe_code)]

mod bench;
mod check;
mod dump;
mod flags;
mod guard;
mod input;
mod litmus;
mod memory;
mod outcome;
mod outcomes;
mod outputs;
mod replay;
mod robust;
mod step;
mod terminal;
mod watch;

use clap::{CommandFactory, Parser};
use flags::{BenchCommand, Command, Flags};
use mimalloc::MiMalloc;
use outcome::Outcome;
use std::process::ExitCode;
use terminal::Terminal;

/// Engines make and drop many small things.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let terminal = Terminal::new(flags.color);
    match run(flags.command, &terminal) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            terminal.error(&error);
            Outcome::BadInput.into()
        }
    }
}

fn run(command: Command, terminal: &Terminal) -> anyhow::Result<Outcome> {
    watch::listen_to_interrupts()?;
    match command {
        Command::Check(flags) => check::run(&flags, terminal),
        Command::Litmus(flags) => litmus::run(&flags, terminal),
        Command::Robust(flags) => robust::robust(&flags, terminal),
        Command::Fences(flags) => robust::fences(&flags, terminal),
        Command::Outcomes(flags) => outcomes::run(&flags, terminal),
        Command::Replay(flags) => replay::run(&flags, terminal),
        Command::Bench(BenchCommand::Papers(flags)) => bench::papers(&flags, terminal),
        Command::Bench(BenchCommand::Sober(flags)) => bench::sober(&flags, terminal),
        Command::Bench(BenchCommand::Sizes(flags)) => bench::sizes(&flags, terminal),
        Command::Bench(BenchCommand::Trencher(flags)) => bench::lazy::curves(&flags, terminal),
        Command::Bench(BenchCommand::Engines(flags)) => bench::engines(&flags, terminal),
        Command::Bench(BenchCommand::Satcheck(flags)) => bench::satcheck(&flags, terminal),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Flags::command(), "unthread", &mut script);
            terminal.print(&String::from_utf8(script)?)?;
            Ok(Outcome::Verified)
        }
    }
}
