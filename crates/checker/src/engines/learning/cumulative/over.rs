//! Questions about how executions end, put to the finished book: deadlocks, livelocks, final values.

use super::{Cumulative, Verdict};
use crate::base::{Loc, ThreadKey};
use crate::execution::{Describe, Stuck};
use crate::knowledge::book::{Cell, EdgeId, Ends, Happening, Meaning, NodeId, Solution, Test, Wanted};
use crate::program::FinalValue;
use crate::search::StopReason;
use crate::solver::{Goal, Lit};
use std::collections::{BTreeMap, BTreeSet};

impl<S: Describe> Cumulative<'_, S> {
    /// Executions after which some threads wait for ever.
    pub(super) fn ask_for_deadlocks(&mut self, ends: &Ends) -> Verdict {
        let is_one = |node: &&(NodeId, Lit)| !self.book.operation(node.0).is_join_all();
        let stuck: Vec<(NodeId, Lit)> = ends.stuck.iter().filter(is_one).copied().collect();
        if stuck.is_empty() {
            return Ok(());
        }
        let goal = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!goal, ends.over]);
        self.book.all_is_well(goal);
        let mut places: BTreeMap<(ThreadKey, u32), Vec<Lit>> = BTreeMap::new();
        for &(node, lit) in &stuck {
            places.entry(self.book.place(node)).or_default().push(lit);
        }
        let mut somewhere = BTreeMap::new();
        for (place, literals) in places {
            let here = self.book.formula.var(Meaning::Other);
            for &lit in &literals {
                self.book.formula.clause([!lit, here]);
            }
            self.book.formula.clause([&[!here], literals.as_slice()].concat());
            somewhere.insert(place, here);
        }
        let any: Vec<Lit> = [!goal].into_iter().chain(somewhere.values().copied()).collect();
        self.book.formula.clause(any);
        while let Some(solution) = self.ask(Goal::Stuck, &[goal])? {
            self.run_to_end(&solution)?;
            let others = somewhere.values().map(|&here| if solution.holds(here) { !here } else { here });
            let clause: Vec<Lit> = [!goal].into_iter().chain(others).collect();
            self.book.formula.clause(clause);
            self.findings.one_violation_is_enough()?;
        }
        Ok(())
    }

    /// Runs a solution in which all is over, and judges how it ends.
    pub(super) fn run_to_end(&mut self, solution: &Solution) -> Result<Stuck, StopReason> {
        let prediction = self.book.whole_prediction(solution);
        let mut runner = self.runner();
        runner.follow(&prediction).map_err(StopReason::Failed)?;
        let n_steps = runner.steps.len();
        let goes_on = || StopReason::Failed("an execution goes on after its end".to_string());
        let end = match runner.finish(n_steps as u64 + 1) {
            Ok(end) if runner.steps.len() == n_steps => end,
            Ok(_) | Err(StopReason::EventLimit) => return Err(goes_on()),
            Err(stop) => return Err(stop),
        };
        runner.judge_end(&end);
        Ok(end)
    }

    /// All final values: of everything, or of what the program's conditions ask about.
    pub(super) fn ask_for_final_states(&mut self, ends: &Ends, all: bool) -> Verdict {
        let Asked { cells, registers } = self.asked(all);
        if cells.is_empty() && !registers {
            return Ok(());
        }
        let goal = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!goal, ends.over]);
        self.book.all_end(goal);
        let values: Vec<_> = cells.iter().map(|&loc| self.final_values(loc, goal, ends.over)).collect();
        let ends_with = if registers { self.final_registers() } else { BTreeMap::new() };
        while let Some(solution) = self.ask(Goal::Finish, &[goal])? {
            if self.run_to_end(&solution)? != Stuck::Finished {
                return Err(StopReason::Failed("an execution does not end".to_string()));
            }
            let mut clause = vec![!goal];
            clause.extend(values.iter().flatten().filter(|&&lit| solution.holds(lit)).map(|&lit| !lit));
            let observed = ends_with.values().flatten().filter(|end| solution.holds(end.1));
            clause.extend(observed.map(|end| !end.1));
            self.book.formula.clause(clause);
            self.findings.one_violation_is_enough()?;
        }
        Ok(())
    }

    fn asked(&self, all: bool) -> Asked {
        let cells = self.book.cells.iter().filter_map(|info| match info.cell {
            Cell::Memory(loc) => Some(loc),
            _ => None,
        });
        if all {
            return Asked { cells: cells.collect(), registers: true };
        }
        let mut asked = Asked { cells: BTreeSet::new(), registers: false };
        let conditions = self.subject.program().map_or(&[][..], |program| &program.conditions);
        for condition in conditions {
            condition.proposition.for_each_leaf(&mut |leaf| match leaf {
                FinalValue::Memory(loc) => {
                    asked.cells.insert(loc);
                }
                FinalValue::Register { .. } => asked.registers = true,
            });
        }
        // That there is an end at all is asked even of conditions that mention nothing.
        asked.registers |= !conditions.is_empty();
        asked
    }

    /// One literal for each value that a location can have in the end.
    fn final_values(&mut self, loc: Loc, goal: Lit, over: Lit) -> Vec<Lit> {
        let book = &mut self.book;
        let cell = book.cell(Cell::Memory(loc));
        let values: Vec<i64> = book.cells[cell as usize].values.iter().map(|value| value.0).collect();
        let mut tests: Vec<(Cell, i64)> = values.into_iter().map(|value| (Cell::Memory(loc), value)).collect();
        // Of a block that has been freed nothing is left.
        let freed = loc.block().filter(|_| book.frees).map(Cell::Freed);
        tests.extend(freed.map(|freed| (freed, 1)));
        let mut literals = vec![];
        for (cell, value) in tests {
            let access = book.access(None, cell, false);
            let lit = book.formula.var(Meaning::Other);
            book.formula.clause([!lit, over]);
            book.list(access, Wanted::These(vec![value]), lit);
            literals.push(lit);
        }
        if let Some(freed) = freed {
            let there = book.look(None, freed, Test::Is(0));
            let gone = literals.last().copied().expect("it was just added");
            book.formula.clause([!goal, there, gone]);
            for &lit in &literals[..literals.len() - 1] {
                book.formula.clause([!lit, !gone]);
            }
        }
        book.formula.clause([&[!goal], literals.as_slice()].concat());
        literals
    }

    /// For each initial thread, literals for the values with which it can end.
    fn final_registers(&mut self) -> BTreeMap<u32, Vec<(Vec<i64>, Lit)>> {
        let Some(program) = self.subject.program() else { return BTreeMap::new() };
        let mut ends: BTreeMap<u32, Vec<(Vec<i64>, Lit)>> = BTreeMap::new();
        for node in self.book.entered() {
            let at = &self.book.nodes[node as usize];
            let Some(start) = program.initial.get(at.thread as usize) else { continue };
            if !self.book.operation(node).is_end() {
                continue;
            }
            let values = self.book.locals.registers(node, &program.routines[start.routine].observed);
            let known = ends.entry(at.thread).or_default();
            let lit = match known.iter().find(|end| end.0 == values) {
                Some(end) => end.1,
                None => {
                    let lit = self.book.formula.var(Meaning::Other);
                    known.push((values, lit));
                    lit
                }
            };
            let reached = self.book.entry(node).reached;
            self.book.formula.clause([!reached, lit]);
        }
        ends
    }

    /// Stores that reach a block after it was freed.
    pub(super) fn ask_for_late_commits(&mut self) -> Verdict {
        let known = |edge: &EdgeId| self.book.edges[*edge as usize].known;
        let edges: Vec<EdgeId> = (0..self.book.edges.len() as EdgeId).filter(known).collect();
        let mut goals: BTreeMap<(ThreadKey, u32), Vec<Lit>> = BTreeMap::new();
        for &store in &edges {
            let node = self.book.edges[store as usize].node;
            let operation = *self.book.operation(node);
            let block = operation.loc().and_then(Loc::block);
            if !crate::knowledge::causality::is_buffered(self.book.memory, &operation)
                || block.is_none()
                || !self.book.frees
            {
                continue;
            }
            for &free in &edges {
                let by = self.book.edges[free as usize].node;
                let frees = self.book.operation(by).freed() == block;
                let other_thread = self.book.nodes[by as usize].thread != self.book.nodes[node as usize].thread;
                if frees && other_thread && !self.book.edges[free as usize].key.fails {
                    let goal = self.late_commit(store, free);
                    goals.entry(self.book.place(node)).or_default().extend(goal);
                }
            }
        }
        for literals in goals.into_values() {
            let goal = self.book.formula.var(Meaning::Other);
            self.book.formula.clause([&[!goal], literals.as_slice()].concat());
            if let Some(solution) = self.ask(Goal::LateCommit, &[goal])? {
                let prediction = self.book.whole_prediction(&solution);
                self.runner().follow(&prediction).map_err(StopReason::Failed)?;
                self.findings.one_violation_is_enough()?;
            }
        }
        Ok(())
    }

    fn late_commit(&mut self, store: EdgeId, free: EdgeId) -> Option<Lit> {
        let write = *self.book.edges[store as usize].writes.first()?;
        let meaning = Meaning::AfterFree(write, free);
        let lit = self.book.formula.var(meaning);
        self.book.late_literals.insert(meaning, lit);
        for edge in [store, free] {
            self.book.formula.clause([!lit, self.book.edges[edge as usize].lit]);
        }
        Some(lit)
    }
}

/// What is asked about final states.
struct Asked {
    cells: BTreeSet<Loc>,
    registers: bool,
}

/// The part of an order before a commit.
pub(super) fn until(order: &[Happening], commit: Happening) -> &[Happening] {
    let at = order.iter().position(|&happening| happening == commit);
    &order[..at.unwrap_or(order.len())]
}
