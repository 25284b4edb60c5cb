//! What a thread can do next in the program with its delays.

use super::{HEAD, LazySearch, MOST_KNOWN, Move};
use crate::base::{Action, ThreadId};
use crate::engines::lazy::attack::Bus;
use crate::engines::lazy::emulation::{Mode, Object, Touched, is_buffered, touch_cell};
use crate::execution::{Comparable, LockAction, Status};
use std::rc::Rc;

impl<S: Comparable> LazySearch<'_, S> {
    /// What a thread can do in the program with its delays. Depends on what is shared, the thread, its stores and its number, but for
    /// a thread that joins others.
    pub(super) fn moves(&mut self, row: &[u32], index: usize) -> Rc<[Move]> {
        let part = HEAD + 2 * index;
        let key = (row[2], row[part], row[part + 1], index as u16);
        if let Some(moves) = self.known.get(&key) {
            return Rc::clone(moves);
        }
        let mut moves = Vec::new();
        moves.extend(self.flush(row, index));
        let joins = self.operate(row, index, &mut moves);
        let moves: Rc<[Move]> = moves.into();
        if !joins {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            self.known.insert(key, Rc::clone(&moves));
        }
        moves
    }

    /// The oldest store that waits reaches memory.
    fn flush(&mut self, row: &[u32], index: usize) -> Option<Move> {
        let (first, rest) = self.space.lists.split(row[HEAD + 2 * index + 1])?;
        let (mut state, _) = self.state(row, None);
        let thread = ThreadId(index as u16);
        if self.emulation.machine.bus_is_taken(&state, thread) {
            return None;
        }
        let failure = state.shared.check(first.loc).err();
        if failure.is_none() {
            state.shared.write(first.loc, first.value);
        }
        let mut touched = Touched::new();
        touch_cell(&mut touched, first.loc, Mode::Write);
        let mut next = Move {
            action: Action::Flush(0),
            failure,
            shared: self.space.shared.intern(&state.shared),
            thread: row[HEAD + 2 * index],
            waiting: rest,
            forked: None,
            touched,
            bus: Bus::Untouched,
            is_goal: false,
        };
        // There is room now for a store that had none.
        let operation = self.emulation.machine.subject.operation(&state.threads[index].local);
        if self.emulation.eager && is_buffered(&operation) {
            let mut after = row.to_vec();
            (after[2], after[HEAD + 2 * index + 1]) = (next.shared, rest);
            let (mut state, mut sites) = self.state(&after, Some(index));
            self.emulation.fill(&mut state, &mut sites, thread, &mut Vec::new());
            [next.thread, next.waiting] = self.intern(state.threads.swap_remove(index), &sites);
        }
        Some(next)
    }

    /// The thread performs its operation. Says whether that depends on other threads.
    fn operate(&mut self, row: &[u32], index: usize, moves: &mut Vec<Move>) -> bool {
        let (state, sites) = self.state(row, Some(index));
        let thread = ThreadId(index as u16);
        let machine = &self.emulation.machine;
        if state.threads[index].status != Status::Running {
            return false;
        }
        let operation = machine.subject.operation(&state.threads[index].local);
        let joins = operation.is_join();
        let at = self.emulation.site(&state, thread);
        if self.emulation.is_full(&operation, sites.len()) {
            if self.emulation.delays.may_wait(sites[0]) && self.met_bound.is_none() {
                self.met_bound = Some(state.threads[index].clone());
            }
            return joins;
        }
        if operation.is_read() && !self.emulation.may_read(at, sites.iter().copied()) {
            return joins;
        }
        let mut steps = Vec::new();
        machine.operation_steps(&state, thread, &mut steps);
        let bus = machine.subject.bus();
        let bus = match operation.lock_action() {
            Some((lock, LockAction::Acquire(_))) if Some(lock) == bus => Bus::Taken,
            Some((lock, LockAction::Release(_))) if Some(lock) == bus => Bus::GivenBack,
            _ => Bus::Untouched,
        };
        let automata = machine.subject.code().automata.as_ref();
        let is_goal =
            automata.and_then(|automata| automata.state_at(at.0 as usize, at.1)).is_some_and(|state| state.goal);
        for step in steps {
            let (mut next, mut next_sites) = (state.clone(), sites.clone());
            let performed = self.emulation.perform(&mut next, &mut next_sites, step, &mut Vec::new());
            let at_once = match operation.loc() {
                Some(loc) if operation.is_read() => !state.threads[index].buffer.contains(loc),
                Some(_) if operation.is_write() => {
                    !performed.buffered || sites.is_empty() && !self.emulation.delays.may_wait(at)
                }
                _ => true,
            };
            let mut touched = self.emulation.touched(&state, thread, &operation, &performed, at_once);
            if !self.joins {
                touched.retain(|access| !matches!(access.0, Object::Thread(_)));
            }
            let forked = next.threads.get(state.threads.len()).cloned().map(|child| {
                let mut child_sites = Vec::new();
                let id = ThreadId(state.threads.len() as u16);
                self.emulation.fill(&mut next, &mut child_sites, id, &mut Vec::new());
                let child = next.threads.get(state.threads.len()).cloned().unwrap_or(child);
                (child, child_sites)
            });
            let forked = forked.map(|(child, sites)| self.intern(child, &sites).into());
            let [thread, waiting] = self.intern(next.threads.swap_remove(index), &next_sites);
            let shared = self.space.shared.intern(&next.shared);
            let failure = performed.failure;
            moves.push(Move { action: step.action, failure, shared, thread, waiting, forked, touched, bus, is_goal });
        }
        joins
    }
}
