//! Counterexamples are made as simple as they can be, and stay counterexamples.

use std::collections::BTreeMap;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Options, Report, Unwatched, replay};
use unthread_checker::simplest::{price, simplify};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

fn parse(text: &str) -> Program {
    ut::parse(Arc::new(Source::new("p.ut", text)), &BTreeMap::new()).expect("the program is right")
}

fn simplified(program: &Program, options: &Options) -> Report {
    let mut report = check(program, options, &Unwatched);
    simplify(program, options, &mut report, &Unwatched);
    report
}

/// The first violation's schedule and its price.
fn simplest(text: &str, memory: MemoryModel, engine: Engine) -> (String, u32) {
    let program = parse(text);
    let options = Options { engine, ..Options::new(memory) };
    let report = simplified(&program, &options);
    let schedule = &report.violations.first().expect("something is wrong").schedule;
    (schedule.to_string(), price(&program, options.rules, schedule))
}

#[test]
fn store_buffering_needs_one_delayed_store_and_no_preemption() {
    let text = "shared x, y; thread left { x = 1; let r = y; } thread right { y = 1; let r = x; }
                forbidden (left.r == 0 && right.r == 0);";
    for engine in [Engine::Exhaustive, Engine::Mcr, Engine::Dpor, Engine::Random { seed: 7 }] {
        let (schedule, price) = simplest(text, MemoryModel::Tso, engine);
        assert_eq!((schedule.as_str(), price), ("0x2.1.1f.1.0f.0.1", 1), "{engine}");
    }
}

#[test]
fn a_lost_update_needs_one_preemption() {
    let text = "shared x; thread t * 2 { x += 1; } always (x == 2);";
    for memory in MemoryModel::MACHINES {
        assert_eq!(simplest(text, memory, Engine::Pct { seed: 1, depth: 3 }).1, 1, "{memory}");
    }
}

#[test]
fn what_only_goes_on_for_ever_stays_what_it_is() {
    let text = "mutex m; shared stop; thread t { loop { lock(m); if stop { unlock(m); return; } unlock(m); } }";
    let program = parse(text);
    let options = Options::new(MemoryModel::Tso);
    let report = simplified(&program, &options);
    let schedule = &report.violations[0].schedule;
    let replayed = replay(&program, options.rules, schedule).expect("it fits");
    assert_eq!(replayed.violations[0].kind, report.violations[0].kind);
}

/// A program with more states than the search looks at: what a random execution finds is made simpler where it stands.
#[test]
fn a_violation_out_of_reach_of_the_search_is_made_simpler_where_it_stands() {
    let text = "shared x, a[8];
                thread t(i) * 8 { a[i] = 1; a[i] = 2; a[i] = 3; a[i] = 4; x += 1; a[i] = 5; a[i] = 6; a[i] = 7; a[i] = 8; }
                always (x == 8);";
    let program = parse(text);
    let options = Options { engine: Engine::Random { seed: 3 }, ..Options::new(MemoryModel::Tso) };
    let found = check(&program, &options, &Unwatched);
    let report = simplified(&program, &options);
    let [before, after] =
        [&found, &report].map(|report| price(&program, options.rules, &report.violations[0].schedule));
    assert!(before > 20 && after <= 3, "{before} preemptions and delays before, {after} after");
}

fn stays_the_same(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let options = Options { all_violations: true, engine: Engine::Dpor, ..Options::new(memory) };
    let before = check(&program, &options, &Unwatched);
    let mut after = before.clone();
    simplify(&program, &options, &mut after, &Unwatched);
    for (before, after) in before.violations.iter().zip(&after.violations) {
        if (before.kind, before.span, &before.thread) != (after.kind, after.span, &after.thread) {
            return Err(format!("{memory}: {before:?} became {after:?}"));
        }
        let [costly, cheap] = [before, after].map(|violation| price(&program, options.rules, &violation.schedule));
        if cheap > costly {
            return Err(format!("{memory}: {} is cheaper than {}", before.schedule, after.schedule));
        }
        let replayed = replay(&program, options.rules, &after.schedule).map_err(|error| error.to_string())?;
        if !replayed.violations.iter().any(|shown| shown.kind == after.kind) {
            return Err(format!("{memory}: {} shows no {}", after.schedule, after.kind.name()));
        }
    }
    Ok(())
}

#[test]
fn simpler_schedules_show_the_same_violations_and_never_cost_more() {
    for_all(sketches(Features::ALL), cases(60), |sketch| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| stays_the_same(sketch, memory))
    });
}
