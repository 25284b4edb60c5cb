//! Forks, joins, locks and condition variables: events that concern no cell, and what they order.

use super::enumerate::{After, LockUse, Search, World};
use super::graph::{Kind, ThreadName};
use super::thread::{Phase, Thread, Unsupported};
use unthread_checker::program::LockMode;

/// What can come of a step, with what the step depends on.
type Next = Result<Vec<(World, After)>, Unsupported>;

impl Search<'_> {
    pub(super) fn fork(&self, world: &World, index: usize, routine: usize, arguments: Vec<i64>) -> Next {
        let (mut next, after) = self.step(world, index);
        let event = self.add(&mut next, index, Kind::Other);
        let parent = &mut next.threads[index];
        parent.forks += 1;
        let name = parent.name * 8 + parent.forks;
        let key = parent.key.child(parent.forks as u32 - 1).ok_or("too many threads")?;
        let child = Thread { forked_by: Some(event), ..Thread::new(self.program, (name, key), routine, arguments) };
        next.threads.push(child);
        self.end_step(&mut next, index, name as i64)?;
        Ok(vec![(next, after)])
    }

    /// The first event of a thread that was forked.
    pub(super) fn begin(&self, world: &World, index: usize, fork: usize) -> Next {
        let (mut next, after) = self.step(world, index);
        let begin = self.add(&mut next, index, Kind::Other);
        next.graph.hand_over.push((fork, begin));
        next.threads[index].begin = Some(begin);
        self.run_on(&mut next, index)?;
        Ok(vec![(next, after.step(world.step_of[fork]))])
    }

    /// `finally` begins when everything else has ended.
    pub(super) fn begin_last(&self, world: &World, index: usize) -> Next {
        let others = world.threads.iter().enumerate().filter(|(other, _)| *other != index);
        let Some(ends) = others.map(|(_, other)| other.end).collect::<Option<Vec<_>>>() else { return Ok(vec![]) };
        let (mut next, after) = self.step(world, index);
        let begin = self.add(&mut next, index, Kind::Other);
        next.graph.hand_over.extend(ends.iter().map(|end| (*end, begin)));
        next.threads[index].phase = Phase::Running;
        self.run_on(&mut next, index)?;
        Ok(vec![(next, ends.iter().fold(after, |after, end| after.step(world.step_of[*end])))])
    }

    pub(super) fn join(&self, world: &World, index: usize, child: ThreadName) -> Next {
        let child = world.threads.iter().find(|thread| thread.name == child).ok_or("no thread to join")?;
        let Some(end) = child.end else { return Ok(vec![]) };
        let mut next = self.alone(world, index, Kind::Other, After(world.step_of[end]), 0)?;
        // The join is the first event that was added.
        next[0].0.graph.hand_over.push((end, world.graph.events.len()));
        Ok(next)
    }

    pub(super) fn lock(&self, world: &World, index: usize, lock: usize, mode: LockMode) -> Next {
        let uses = &world.locks[lock];
        let held = |by: LockMode| {
            let of = |takes: bool| uses.iter().filter(|one| one.mode == by && one.takes == takes).count();
            of(true) > of(false)
        };
        if held(LockMode::Exclusive) || mode == LockMode::Exclusive && held(LockMode::Shared) {
            return Ok(vec![]);
        }
        // Who shares the lock hands nothing over to others who do.
        let from =
            uses.iter().filter(|one| !one.takes && (one.mode == LockMode::Exclusive || mode == LockMode::Exclusive));
        let edges: Vec<_> = from.map(|one| (one.event, world.graph.events.len())).collect();
        self.use_lock(world, index, lock, mode, true, edges)
    }

    pub(super) fn unlock(&self, world: &World, index: usize, lock: usize, mode: LockMode) -> Next {
        let mine = world.locks[lock].iter().filter(|one| one.thread == world.threads[index].name && one.mode == mode);
        if mine.map(|one| if one.takes { 1 } else { -1 }).sum::<i32>() == 0 {
            return Err("a lock is given back that the thread does not hold".into());
        }
        self.use_lock(world, index, lock, mode, false, vec![])
    }

    fn use_lock(
        &self,
        world: &World,
        index: usize,
        lock: usize,
        mode: LockMode,
        takes: bool,
        edges: Vec<(usize, usize)>,
    ) -> Next {
        let depends = |one: &&LockUse| one.mode == LockMode::Exclusive || mode == LockMode::Exclusive;
        let after = world.locks[lock]
            .iter()
            .filter(depends)
            .fold(After::default(), |after, one| after.step(world.step_of[one.event]));
        let event = world.graph.events.len();
        let mut next = self.alone(world, index, Kind::Other, after, 0)?;
        let (thread, (world, _)) = (world.threads[index].name, &mut next[0]);
        world.graph.hand_over.extend(edges);
        world.locks[lock].push(LockUse { thread, mode, takes, event });
        Ok(next)
    }

    /// Half of a wait: the lock is given back, or taken again. A condition variable orders nothing by itself.
    pub(super) fn wait(&self, world: &World, index: usize, condvar: usize, lock: usize) -> Next {
        match world.threads[index].waits {
            Some((_, None)) => Ok(vec![]),
            Some((_, Some(notified))) => {
                // That the lock is taken is the first event that is added.
                let taken = world.graph.events.len();
                let mut next = self.lock(world, index, lock, LockMode::Exclusive)?;
                for (next, after) in &mut next {
                    next.threads[index].waits = None;
                    next.graph.notifications.push((notified, taken));
                    *after = std::mem::take(after).step(world.step_of[notified]);
                }
                Ok(next)
            }
            None => {
                let (mut next, own) = self.step(world, index);
                let event = self.add(&mut next, index, Kind::Other);
                let uses = world.locks[lock].iter().map(|one| one.event);
                let after = uses.fold(own, |after, event| after.step(world.step_of[event]));
                let thread = next.threads[index].name;
                next.locks[lock].push(LockUse { thread, mode: LockMode::Exclusive, takes: false, event });
                next.threads[index].waits = Some((condvar, None));
                Ok(vec![self.use_condvar(world, next, condvar, event, after)])
            }
        }
    }

    /// Wakes one of those who wait, any of them, or all.
    pub(super) fn notify(&self, world: &World, index: usize, condvar: usize, all: bool) -> Next {
        let waits = |other: &usize| world.threads[*other].waits == Some((condvar, None));
        let waiters: Vec<usize> = (0..world.threads.len()).filter(waits).collect();
        let woken = match all || waiters.is_empty() {
            true => vec![waiters],
            false => waiters.into_iter().map(|one| vec![one]).collect(),
        };
        let wake = |woken: Vec<usize>| {
            let event = world.graph.events.len();
            let (mut next, after) = self.alone(world, index, Kind::Other, After::default(), 0)?.swap_remove(0);
            woken.into_iter().for_each(|one| next.threads[one].waits = Some((condvar, Some(event))));
            Ok(self.use_condvar(world, next, condvar, event, after))
        };
        woken.into_iter().map(wake).collect()
    }

    /// The event comes after the last use of the condition variable.
    fn use_condvar(
        &self,
        world: &World,
        mut next: World,
        condvar: usize,
        event: usize,
        after: After,
    ) -> (World, After) {
        let last = world.condvars[condvar].last().copied();
        next.graph.notifications.extend(last.map(|last| (last, event)));
        next.condvars[condvar].push(event);
        (next, last.into_iter().fold(after, |after, last| after.step(world.step_of[last])))
    }
}
