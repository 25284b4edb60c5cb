//! How many executions per second the `dpor` engine runs, on one core, and what it costs to watch them: `cargo bench -p unthread-checker --bench dpor`.

use std::collections::BTreeMap;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Monitor, Options, Unwatched};

fn main() {
    divan::main();
}

/// A program that other tools ran too, and its size.
const PROGRAMS: [(&str, i64); 2] = [("peers/seqlock", 3), ("peers/trylock", 6)];

#[divan::bench(args = PROGRAMS, sample_count = 3, sample_size = 1)]
fn under_sc(bencher: divan::Bencher, (name, n): (&str, i64)) {
    measure(bencher, &program(name, &[("N", n)]), Options::new(MemoryModel::Sc));
}

#[divan::bench(args = PROGRAMS, sample_count = 3, sample_size = 1)]
fn under_tso(bencher: divan::Bencher, (name, n): (&str, i64)) {
    measure(bencher, &program(name, &[("N", n)]), Options::new(MemoryModel::Tso));
}

#[divan::bench(args = PROGRAMS, sample_count = 3, sample_size = 1)]
fn under_pso(bencher: divan::Bencher, (name, n): (&str, i64)) {
    measure(bencher, &program(name, &[("N", n)]), Options::new(MemoryModel::Pso));
}

#[divan::bench(args = [false, true], sample_count = 5, sample_size = 1)]
fn watched(bencher: divan::Bencher, is_watched: bool) {
    let monitor = is_watched.then_some(Monitor::StoreBuffers);
    let memory = if is_watched { MemoryModel::Tso } else { MemoryModel::Sc };
    let program = program("papers/sober_bakery", &[("FENCED", 1), ("SECTIONS", 2)]);
    measure(bencher, &program, Options { monitor, ..Options::new(memory) });
}

fn measure(bencher: divan::Bencher, program: &Program, options: Options) {
    let options = Options { engine: Engine::Dpor, all_violations: true, ..options };
    let run = || check(program, &options, &Unwatched);
    bencher.counter(divan::counter::ItemsCount::new(run().statistics.executions)).bench(run);
}

fn program(name: &str, defines: &[(&str, i64)]) -> Program {
    let file = format!("{}/corpus/programs/{name}.ut", env!("CARGO_WORKSPACE_DIR"));
    let text = std::fs::read_to_string(&file).expect("the program is there");
    let defines: BTreeMap<String, i64> = defines.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    ut::parse(Arc::new(Source::new(file, text)), &defines).expect("it is a program")
}
