//! The ordering rules, evaluated by brute force: every total order of issue and commit events that the rules allow, against the machine's final
//! states. For straight-line programs with loads, stores, read-modify-writes and fences.

use std::collections::BTreeSet;
use unthread_checker::engines::check;
use unthread_checker::execution::{MemoryModel, Rules};
use unthread_checker::program::{Expr, FinalState, Instr, Ordering, Place, Program, Reg};
use unthread_checker::search::{Options, Unwatched};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

/// More events than this have too many orders.
const MOST_EVENTS: usize = 11;

/// An event: a thread's operation happens, or a store of it arrives in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    thread: usize,
    pc: usize,
    kind: Kind,
    /// Events that must come before, as bits.
    after: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Issue,
    Commit,
    /// The fence that follows a SeqCst store.
    Fence,
}

/// Compares the final states of the machine under some rules with those of the ordering rules. Says whether it did: programs with
/// too many events are left out.
pub(crate) fn agree(sketch: &Sketch, memory: MemoryModel, rules: Rules) -> Result<bool, String> {
    let program = sketch.program();
    let events = events(&program, memory);
    if events.len() > MOST_EVENTS {
        return Ok(false);
    }
    let mut expected = BTreeSet::new();
    for_each_order(&events, 0, &mut vec![], &mut |order| {
        expected.insert(evaluate(&program, &events, order));
    });
    let report = check(&program, &Options { rules, ..Options::new(memory) }, &Unwatched);
    let found: BTreeSet<FinalState> = report.final_states.into_iter().collect();
    if found == expected {
        return Ok(true);
    }
    let unexpected: Vec<_> = found.difference(&expected).collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    Err(format!("{memory}: unexpected {unexpected:?}, missing {missing:?}"))
}

fn cell(instr: &Instr) -> Option<u32> {
    let (Instr::Load { place, .. } | Instr::Store { place, .. } | Instr::Rmw { place, .. } | Instr::Cas { place, .. }) =
        instr
    else {
        return None;
    };
    match place {
        Place::Cell(cell) => Some(*cell),
        _ => panic!("straight-line programs name their cells"),
    }
}

/// The events of the program and rules 1 to 3.
fn events(program: &Program, memory: MemoryModel) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for (thread, start) in program.initial.iter().enumerate() {
        let mut last_issue = 0;
        // Commits so far: the event, the cell, and how many barriers were before it.
        let mut commits: Vec<(u32, u32, u32)> = Vec::new();
        let mut barriers = 0;
        for (pc, instr) in program.routines[start.routine].code.iter().enumerate() {
            let mut add = |kind, after| {
                events.push(Event { thread, pc, kind, after });
                1 << (events.len() - 1)
            };
            let all_commits = commits.iter().fold(0, |bits, commit| bits | commit.0);
            match instr {
                Instr::Load { .. } => last_issue = add(Kind::Issue, last_issue),
                Instr::Rmw { .. } | Instr::Cas { .. } | Instr::Fence { ordering: Ordering::SeqCst } => {
                    last_issue = add(Kind::Issue, last_issue | all_commits);
                }
                Instr::Fence { ordering: Ordering::Release | Ordering::AcqRel } => barriers += 1,
                Instr::Store { ordering, .. } => {
                    let to = cell(instr).expect("stores have a cell");
                    barriers += u32::from(matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst));
                    last_issue = add(Kind::Issue, last_issue);
                    if memory == MemoryModel::Sc {
                        continue;
                    }
                    let ordered = |&&(_, cell, before): &&(u32, u32, u32)| {
                        memory == MemoryModel::Tso || cell == to || before < barriers
                    };
                    let earlier = commits.iter().filter(ordered).fold(0, |bits, commit| bits | commit.0);
                    let commit = add(Kind::Commit, last_issue | earlier);
                    commits.push((commit, to, barriers));
                    if *ordering == Ordering::SeqCst {
                        last_issue = add(Kind::Fence, last_issue | all_commits | commit);
                    }
                }
                _ => {}
            }
        }
    }
    events
}

fn for_each_order(events: &[Event], placed: u32, order: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    if order.len() == events.len() {
        return visit(order);
    }
    for (index, event) in events.iter().enumerate() {
        if placed & (1 << index) == 0 && event.after & !placed == 0 {
            order.push(index);
            for_each_order(events, placed | 1 << index, order, visit);
            order.pop();
        }
    }
}

/// A write with its place in the order.
struct Write {
    thread: usize,
    cell: u32,
    value: i64,
    committed: usize,
}

/// Rule 4, along one total order.
fn evaluate(program: &Program, events: &[Event], order: &[usize]) -> FinalState {
    let code = |event: &Event| &program.routines[program.initial[event.thread].routine].code[event.pc];
    let mut registers: Vec<Vec<i64>> = program.initial.iter().map(|_| vec![0; 16]).collect();
    let mut writes: Vec<Write> = Vec::new();
    let committed = |thread: usize, pc: usize, now: usize| {
        let is_commit = |&at: &usize| (events[at].thread, events[at].pc, events[at].kind) == (thread, pc, Kind::Commit);
        order.iter().position(is_commit).unwrap_or(now)
    };
    for (now, &at) in order.iter().enumerate() {
        let event = &events[at];
        let (thread, instr) = (event.thread, code(event));
        let Some(cell) = cell(instr).filter(|_| event.kind == Kind::Issue) else { continue };
        let visible = writes.iter().filter(|w| w.cell == cell && (w.committed < now || w.thread == thread));
        let latest = visible.max_by_key(|write| write.committed).map(|write| write.value);
        let old = latest.unwrap_or(program.cells[cell as usize].initial);
        let eval = |expr: &Expr| expr.eval(&|Reg(reg)| registers[thread][reg as usize]).expect("nothing is divided");
        let new = match instr {
            Instr::Store { value, .. } => Some(eval(value)),
            Instr::Rmw { op, operand, .. } => Some(op.apply(old, eval(operand))),
            Instr::Cas { expected, desired, .. } => (old == eval(expected)).then(|| eval(desired)),
            _ => None,
        };
        writes.extend(new.map(|value| Write { thread, cell, value, committed: committed(thread, event.pc, now) }));
        if let Some(Reg(dst)) = instr.defined() {
            registers[thread][dst as usize] = old;
        }
    }
    let latest = |cell: usize| writes.iter().filter(|w| w.cell as usize == cell).max_by_key(|w| w.committed);
    let value = |cell: usize| latest(cell).map_or(program.cells[cell].initial, |write| write.value);
    let observed = program.initial.iter().zip(&registers).map(|(start, registers)| {
        program.routines[start.routine].observed.iter().map(|reg| registers[reg.0 as usize]).collect()
    });
    FinalState { cells: (0..program.cells.len()).map(value).collect(), heap: vec![], registers: observed.collect() }
}

fn agrees_with_ordering_rules(memory: MemoryModel) {
    let compared = std::sync::atomic::AtomicU32::new(0);
    let cases = cases(2000);
    for_all(sketches(Features::MEMORY), cases, |sketch| {
        let is_compared = agree(sketch, memory, memory.rules())?;
        compared.fetch_add(is_compared.into(), std::sync::atomic::Ordering::Relaxed);
        Ok(())
    });
    let compared = compared.into_inner();
    println!("{memory}: {compared} of {cases} programs were small enough to be compared");
    assert!(compared * 2 > cases, "{compared} of {cases} programs were compared");
}

#[test]
fn the_machine_agrees_with_the_ordering_rules_under_sc() {
    agrees_with_ordering_rules(MemoryModel::Sc);
}

#[test]
fn the_machine_agrees_with_the_ordering_rules_under_tso() {
    agrees_with_ordering_rules(MemoryModel::Tso);
}

#[test]
fn the_machine_agrees_with_the_ordering_rules_under_pso() {
    agrees_with_ordering_rules(MemoryModel::Pso);
}
