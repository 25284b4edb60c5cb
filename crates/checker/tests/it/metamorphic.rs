//! What must hold between a program and a variant of it, or between memory models, whatever the program.

use crate::agreement::{difference, found};
use crate::reference::Behaviour;
use std::collections::BTreeSet;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::Ordering;
use unthread_generate::{Asked, Features, PlaceSketch, Sketch, Statement, Value, cases, for_all, sketches};

/// Threads and cells can be renamed: nothing holds a thread's handle or a cell's address.
const NAMELESS: Features = Features { pointers: false, forks: false, ..Features::ALL };

/// What the engine finds, with failures placed by the text of their line, which variants share.
fn behaviour(sketch: &Sketch, memory: MemoryModel) -> Result<Behaviour, String> {
    let spins = sketch.any(|statement| statement.is_loop());
    behaviour_with(sketch, memory, !spins)
}

fn behaviour_with(sketch: &Sketch, memory: MemoryModel, histories: bool) -> Result<Behaviour, String> {
    let program = sketch.program();
    let mut rules = memory.rules();
    // Repeated stores, and no loop that stores for ever: buffers are long, but not endless.
    rules.max_buffer = 64;
    let mut found = found(&program, memory, rules, histories)?;
    let by_line = |(kind, thread, place, message): (String, String, u32, String)| {
        (kind, format!("{thread}: {}", program.source.line_text(place).trim()), 0, message)
    };
    found.failures = std::mem::take(&mut found.failures).into_iter().map(by_line).collect();
    Ok(found)
}

fn equal(found: &Behaviour, expected: &Behaviour) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(difference(found, expected)) }
}

/// Everything in the first is in the second.
fn included(smaller: &Behaviour, larger: &Behaviour) -> Result<(), String> {
    let holds = smaller.final_states.is_subset(&larger.final_states)
        && smaller.failures.is_subset(&larger.failures)
        && smaller.deadlocks.is_subset(&larger.deadlocks)
        && smaller.races.is_subset(&larger.races)
        && smaller.conditions.is_subset(&larger.conditions)
        && smaller.histories.is_subset(&larger.histories)
        && (!smaller.endless || larger.endless);
    if holds { Ok(()) } else { Err(difference(smaller, larger)) }
}

fn followed_by(statement: Statement) -> impl Fn(Statement) -> Vec<Statement> {
    move |first| vec![first, statement.clone()]
}

#[test]
fn a_weaker_memory_model_allows_more() {
    for_all(sketches(Features::ALL), cases(2000), |sketch| {
        let [sc, tso, pso] = MemoryModel::MACHINES.map(|memory| behaviour(sketch, memory));
        included(sc.as_ref()?, tso.as_ref()?)?;
        included(tso.as_ref()?, pso.as_ref()?)
    });
}

#[test]
fn fences_everywhere_give_sequential_consistency() {
    for_all(sketches(Features::ALL), cases(2000), |sketch| {
        // A store that waits can find its block freed by others, fence or not; under SC none waits.
        if sketch.any(|statement| *statement == Statement::Free) {
            return Ok(());
        }
        let fenced = sketch.map(followed_by(Statement::Fence(Ordering::SeqCst)));
        let [sc, tso, pso] = MemoryModel::MACHINES.map(|memory| behaviour(&fenced, memory));
        equal(tso.as_ref()?, sc.as_ref()?)?;
        equal(pso.as_ref()?, sc.as_ref()?)
    });
}

#[test]
fn the_order_of_threads_does_not_matter() {
    for_all(sketches(NAMELESS), cases(1000), |sketch| {
        for memory in MemoryModel::MACHINES {
            let mut reversed = sketch.clone();
            reversed.threads.reverse();
            for (asked, _) in reversed.condition.iter_mut().flat_map(|condition| &mut condition.all) {
                if let Asked::Register(thread, _) = asked {
                    let n = sketch.threads.len();
                    *thread = n - 1 - *thread % n;
                }
            }
            let mut found = behaviour(&reversed, memory)?;
            found.final_states = std::mem::take(&mut found.final_states)
                .into_iter()
                .map(|mut state| {
                    state.registers.reverse();
                    state
                })
                .collect();
            let threads = sketch.threads.len() as u64;
            let key = |key: u64| if key <= threads { threads + 1 - key } else { key };
            found.histories = std::mem::take(&mut found.histories)
                .into_iter()
                .map(|combination| {
                    let renamed = combination.into_iter().map(|(of, results)| (key(of), results));
                    renamed.collect::<BTreeSet<_>>().into_iter().collect()
                })
                .collect();
            equal(&found, &behaviour(sketch, memory)?)?;
        }
        Ok(())
    });
}

#[test]
fn the_order_of_cells_does_not_matter() {
    for_all(sketches(NAMELESS), cases(1000), |sketch| {
        let n = sketch.cells.len();
        let next = |cell: usize| (cell % n + 1) % n;
        let rename = |place: &mut PlaceSketch| {
            if let PlaceSketch::Cell(cell) = place {
                *cell = next(*cell);
            }
        };
        let mut rotated = sketch.map(|mut statement| {
            match &mut statement {
                Statement::Load { place, .. }
                | Statement::Store { place, .. }
                | Statement::Rmw { place, .. }
                | Statement::Cas { place, .. }
                | Statement::Spin { place, .. }
                | Statement::Retry { place, .. }
                | Statement::SpinLocked { place, .. }
                | Statement::LockedWait { test: Some((place, _)), .. } => rename(place),
                _ => {}
            }
            vec![statement]
        });
        rotated.cells.rotate_right(1);
        for (asked, _) in rotated.condition.iter_mut().flat_map(|condition| &mut condition.all) {
            if let Asked::Cell(cell) = asked {
                *cell = next(*cell);
            }
        }
        for memory in MemoryModel::MACHINES {
            let mut found = behaviour(&rotated, memory)?;
            let rotate_back = |mut state: unthread_checker::program::FinalState| {
                state.cells[..n].rotate_left(1);
                state
            };
            found.final_states = std::mem::take(&mut found.final_states).into_iter().map(rotate_back).collect();
            equal(&found, &behaviour(sketch, memory)?)?;
        }
        Ok(())
    });
}

#[test]
fn yielding_changes_nothing() {
    for_all(sketches(NAMELESS), cases(1000), |sketch| {
        let yielding = sketch.map(followed_by(Statement::Yield));
        for memory in MemoryModel::MACHINES {
            // A history is the results of all operations, yields among them, so histories differ.
            let (found, expected) = (behaviour_with(&yielding, memory, false)?, behaviour_with(sketch, memory, false)?);
            equal(&found, &expected)?;
        }
        Ok(())
    });
}

#[test]
fn without_assumptions_more_is_possible() {
    for_all(sketches(Features::ALL), cases(1000), |sketch| {
        let free = sketch.map(|statement| match statement {
            Statement::Assume(test) => vec![Statement::Assign { dst: test.var, value: Value::Var(test.var) }],
            other => vec![other],
        });
        MemoryModel::MACHINES
            .into_iter()
            .try_for_each(|memory| included(&behaviour(sketch, memory)?, &behaviour(&free, memory)?))
    });
}

#[test]
fn stronger_stores_allow_less() {
    for_all(sketches(Features::ALL), cases(1000), |sketch| {
        let strong = sketch.map(|mut statement| {
            if let Statement::Store { ordering, .. } = &mut statement {
                *ordering = Ordering::SeqCst;
            }
            vec![statement]
        });
        for memory in MemoryModel::MACHINES {
            let (strong, weak) = (behaviour(&strong, memory)?, behaviour(sketch, memory)?);
            if !strong.final_states.is_subset(&weak.final_states) {
                return Err(difference(&strong, &weak));
            }
        }
        Ok(())
    });
}
