//! The smallest sets of fences that make a program robust, or its assertions hold; or, if stronger orderings of stores may stand in for
//! fences, the cheapest sets of both.
//!
//! A set that is too small leaves an execution that is wrong, and that execution names the fences each of which it would not have
//! survived. A set that works contains one of them for every such execution. So: guess a smallest set that does for all
//! executions seen so far, put it in, look for another; the first set that survives is a smallest one. Every set has been checked by then.

use super::placement::{Fence, Fenced, Side, against, at_state, change, with_fences};
use super::{Answer, robust};
use crate::base::{Schedule, Verdict};
use crate::engines::check;
use crate::engines::lazy::delays::{Site, site};
use crate::execution::{Comparable, Machine, MemoryModel, Operation, Subject, interpret};
use crate::program::{Ordering, Program};
use crate::search::{Engine, Limits, Options, StopReason, Watch};
use std::collections::BTreeSet;

/// What fences are for, and how far to go.
#[derive(Clone, Debug)]
pub struct FenceOptions {
    /// The memory model.
    pub memory: MemoryModel,
    /// What fences are for.
    pub purpose: Purpose,
    /// Every set from which no fence can be left out, not just one of the cheapest.
    pub all: bool,
    /// Whether stores may get stronger orderings, where that is cheaper than a fence.
    pub orderings: bool,
    /// Bounds on each search.
    pub limits: Limits,
}

/// What fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The program does what it does under SC.
    Robustness,
    /// Nothing is wrong with the program any more.
    Correctness,
}

/// Sets of fences.
#[derive(Clone, Debug)]
pub struct Fences {
    /// Sets of fences, cheapest first. None: no set helps, because something is wrong without any delay.
    pub sets: Vec<Vec<Fence>>,
    /// Whether each set was checked, and no smaller one does.
    pub verified: bool,
    /// Why the search ended early, if it did. The last set is then a guess.
    pub stop: Option<StopReason>,
    /// Programs that were checked.
    pub checks: u64,
}

/// Looks for fences.
pub fn fences(program: &Program, options: &FenceOptions, watch: &dyn Watch) -> Fences {
    let mut found = Fences { sets: Vec::new(), verified: true, stop: None, checks: 0 };
    // For each execution that was wrong, the fences that it would not have survived.
    let mut broken: Vec<Vec<Fence>> = Vec::new();
    let mut last = Vec::new();
    loop {
        let set = smallest(&broken, &found.sets, watch);
        if let Some(stop) = watch.stop() {
            // Fewer than the last ones do not do.
            found.sets.push(last);
            (found.verified, found.stop) = (false, Some(stop));
            break;
        }
        let Some(set) = set else { break };
        last.clone_from(&set);
        found.checks += 1;
        match examine(&with_fences(program, &set), options, watch) {
            Examined::Fine => {
                found.sets.push(set);
                if !options.all {
                    break;
                }
            }
            Examined::Broken(fences) if fences.is_empty() => {
                found.sets.clear();
                break;
            }
            Examined::Broken(fences) => broken.push(fences),
            Examined::Unknown(stop) => {
                found.sets.push(set);
                (found.verified, found.stop) = (false, Some(stop));
                break;
            }
        }
    }
    found
}

enum Examined {
    Fine,
    /// An execution is wrong. Each of these fences, of the program without any, would have kept it from happening.
    Broken(Vec<Fence>),
    Unknown(StopReason),
}

fn examine(fenced: &Fenced, options: &FenceOptions, watch: &dyn Watch) -> Examined {
    let program = &fenced.program;
    let fences = match options.purpose {
        Purpose::Robustness => match robust(program, options.memory, &options.limits, watch).answer {
            Answer::Robust => return Examined::Fine,
            Answer::Unknown(stop) => return Examined::Unknown(stop),
            Answer::NotRobust(witness) => match &witness.retraced.attack {
                Some(attack) => against(program, attack, options.orderings),
                None => Vec::new(),
            },
        },
        Purpose::Correctness => {
            let engine = if options.memory.reorders_stores() { Engine::Exhaustive } else { Engine::Lazy };
            let checked = Options { engine, limits: options.limits, ..Options::new(options.memory) };
            let report = check(program, &checked, watch);
            match (report.verdict(), report.violations.first()) {
                (Verdict::Verified, _) => return Examined::Fine,
                (_, Some(violation)) => along(program, options, &violation.schedule),
                _ => return Examined::Unknown(report.stop),
            }
        }
    };
    let original = |fence: Fence| Fence { pc: fenced.origins[fence.routine][fence.pc as usize], ..fence };
    Examined::Broken(fences.into_iter().map(original).collect())
}

/// Changes that a schedule passes by while a store of the thread waits.
fn along(program: &Program, options: &FenceOptions, schedule: &Schedule) -> Vec<Fence> {
    let subject = interpret(program);
    let machine = Machine::new(&subject, options.memory.rules().unbounded());
    let is_pso = options.memory.reorders_stores();
    let mut state = machine.start();
    let mut passed: Vec<Vec<Fence>> = vec![Vec::new(); state.threads.len()];
    let mut fences = BTreeSet::new();
    for &step in &schedule.0 {
        let index = step.thread.index();
        let before = state.threads[index].local.clone();
        let is_waited_for = !state.threads[index].buffer.is_empty();
        let (at, operation): (Site, Operation) = (site(&subject, &before), subject.operation(&before));
        let performed = machine.apply(&mut state, step);
        passed.resize(state.threads.len(), Vec::new());
        if options.orderings && performed.buffered {
            // What happens between its issue and its arrival does not happen if it acts at once.
            fences.insert(change(at, Side::SeqCst));
            let is_relaxed = operation.is_write() && operation.ordering() == Some(Ordering::Relaxed);
            fences.extend((is_pso && is_waited_for && is_relaxed).then(|| change(at, Side::Release)));
        }
        if state.threads[index].buffer.is_empty() {
            passed[index].clear();
        } else if performed.operation.is_some() {
            // What overtakes a store is a load or, where stores can, a store.
            if operation.is_read() || is_pso {
                fences.extend(passed[index].iter().copied());
            }
            if program.automata.is_some() {
                let pcs = subject.passed(&before, performed.result);
                passed[index].extend(pcs.into_iter().filter_map(|pc| at_state(program, (at.0, pc))));
            } else if performed.buffered {
                passed[index].push(change(at, Side::After));
            }
        }
    }
    fences.into_iter().collect()
}

/// A cheapest set that contains a fence of each list and does not contain all of any set. If the watch says to stop, it may be missed.
fn smallest(lists: &[Vec<Fence>], without: &[Vec<Fence>], watch: &dyn Watch) -> Option<Vec<Fence>> {
    let most = lists.iter().filter_map(|list| list.iter().map(|fence| fence.side.cost()).max()).sum();
    (0..=most).find_map(|budget| {
        let mut set = Vec::new();
        complete(lists, without, budget, &mut set, watch).then(|| {
            set.sort_unstable();
            set
        })
    })
}

/// Adds fences for at most so much to a set that then contains one of each list.
fn complete(
    lists: &[Vec<Fence>],
    without: &[Vec<Fence>],
    budget: usize,
    set: &mut Vec<Fence>,
    watch: &dyn Watch,
) -> bool {
    if watch.stop().is_some() || without.iter().any(|other| other.iter().all(|fence| set.contains(fence))) {
        return false;
    }
    let Some(list) = lists.iter().find(|list| !list.iter().any(|fence| set.contains(fence))) else { return true };
    list.iter().filter(|fence| fence.side.cost() <= budget).any(|&fence| {
        set.push(fence);
        complete(lists, without, budget - fence.side.cost(), set, watch) || {
            set.pop();
            false
        }
    })
}
