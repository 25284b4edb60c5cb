//! Schedules of generated programs' violations: printed, parsed, replayed, they end in the same violation. And reports are the same
//! every time.

use unthread_checker::base::Schedule;
use unthread_checker::engines::check;
use unthread_checker::execution::{MemoryModel, Stuck, interpret};
use unthread_checker::program::Program;
use unthread_checker::search::{Options, Unwatched, Violation, ViolationKind};
use unthread_checker::trace::{Trace, replay};
use unthread_generate::{Features, cases, for_all, sketches};

fn round_trip(program: &Program, memory: MemoryModel, schedule: &Schedule) -> Result<Trace, String> {
    let parsed: Schedule = schedule.to_string().parse()?;
    if parsed != *schedule {
        return Err(format!("{schedule} became {parsed}"));
    }
    replay(&interpret(program), memory.rules(), &parsed).map_err(|error| error.to_string())
}

fn shows(program: &Program, trace: &Trace, violation: &Violation) -> bool {
    let last = trace.events.last();
    match violation.kind {
        ViolationKind::Failure(kind) => last.is_some_and(|event| {
            let name = &trace.threads[event.step.thread.index()].name;
            let failure = event.failure.as_ref();
            failure.is_some_and(|failure| failure.kind == kind && failure.message == violation.message)
                && Some(event.span) == violation.span
                && Some(name) == violation.thread.as_ref()
        }),
        ViolationKind::Deadlock => matches!(trace.end, Some(Stuck::Deadlock(_))),
        ViolationKind::Livelock => matches!(trace.end, Some(Stuck::Livelock(_))),
        ViolationKind::Condition => trace.end == Some(Stuck::Finished),
        ViolationKind::StoreBuffers => false,
        ViolationKind::Goal => program.automata.is_some(),
        ViolationKind::DataRace => {
            let touches = |event: &unthread_checker::trace::Event| {
                let loc = event.operation.as_ref().and_then(|operation| operation.loc());
                loc.or(event.written.map(|written| written.0))
            };
            let loc = last.and_then(touches);
            loc.is_some_and(|loc| violation.message.contains(&format!("`{}`", program.loc_name(loc))))
        }
    }
}

#[test]
fn every_violation_replays_from_its_printed_schedule() {
    let replayed = std::sync::atomic::AtomicU32::new(0);
    for_all(sketches(Features::ALL), cases(2000), |sketch| {
        let program = sketch.program();
        for memory in MemoryModel::MACHINES {
            let options = Options { all_violations: true, ..Options::new(memory) };
            let report = check(&program, &options, &Unwatched);
            for violation in &report.violations {
                let trace = round_trip(&program, memory, &violation.schedule)?;
                if !shows(&program, &trace, violation) {
                    return Err(format!("{memory}: {} does not show {violation:?}", violation.schedule));
                }
                replayed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            for witness in report.observations.iter().filter_map(|observation| observation.witness.as_ref()) {
                let trace = round_trip(&program, memory, witness)?;
                if trace.end != Some(Stuck::Finished) {
                    return Err(format!("{memory}: witness {witness} does not end the program"));
                }
            }
        }
        Ok(())
    });
    assert!(replayed.into_inner() > 100, "hardly anything was replayed");
}

#[test]
fn the_same_check_gives_the_same_report() {
    for_all(sketches(Features::ALL), cases(500), |sketch| {
        for memory in MemoryModel::MACHINES {
            let options = Options { count_histories: false, all_violations: true, ..Options::new(memory) };
            let run = || check(&sketch.program(), &options, &Unwatched);
            if run() != run() {
                return Err(format!("{memory}: two reports differ"));
            }
        }
        Ok(())
    });
}
