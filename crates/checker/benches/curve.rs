//! What a query costs, against the length of the execution that it is about: `cargo bench -p unthread-checker --bench curve`.
//!
//! The families have two threads that write and read in rounds: a few cells again and again, so that every read has as many sources as there are rounds,
//! fresh cells in every round, or one counter under a lock, where every round can see what any other has left. A bounded number of executions is run for each length, and the time of the whole search (running and learning too)
//! is divided by the number of queries. Cost is about linear if the last column stays about the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::search::{Engine, Limits, Options, Unwatched};

const EXECUTIONS: u64 = 100;

const FEW_CELLS: &str = "const N = 1; shared x = 0, y = 0;
thread a { for i in 0..N { x = i % 3; let r = y; } }
thread b { for i in 0..N { y = i % 3; let r = x; } }";

const FRESH_CELLS: &str = "const N = 1; shared x[N], y[N];
thread a { for i in 0..N { x[i] = 1; let r = y[i]; } }
thread b { for i in 0..N { y[i] = 1; let r = x[i]; } }";

const LOCKED: &str = "const N = 1; shared x = 0; mutex m;
thread a { for i in 0..N { lock(m); x = x + 1; unlock(m); } }
thread b { for i in 0..N { lock(m); x = x + 1; unlock(m); } }";

fn main() {
    for (name, text, events) in
        [("few cells", FEW_CELLS, 6), ("fresh cells", FRESH_CELLS, 6), ("a counter under a lock", LOCKED, 10)]
    {
        println!("{name}, tso:\n{:>8} {:>8} {:>12} {:>18}", "events", "queries", "µs/query", "µs/query/event");
        for most in [50, 100, 200, 400, 800, 1_200, 1_600, 2_000] {
            row(text, most / events);
        }
    }
}

fn row(text: &str, rounds: i64) {
    let constants = BTreeMap::from([("N".to_string(), rounds)]);
    let program = ut::parse(Arc::new(Source::new("curve.ut", text.to_string())), &constants).expect("it parses");
    let options = Options::new(MemoryModel::Tso);
    let limits = Limits { executions: EXECUTIONS, ..options.limits };
    let options = Options { engine: Engine::Mcr, limits, ..options };
    let started = Instant::now();
    let statistics = check(&program, &options, &Unwatched).statistics;
    let micros = started.elapsed().as_secs_f64() * 1e6;
    let queries = statistics.solver.expect("mcr asks a solver").queries;
    let (events, per_query) = (statistics.steps / statistics.executions, micros / queries as f64);
    println!("{events:>8} {queries:>8} {per_query:>12.0} {:>18.2}", per_query / events as f64);
}
