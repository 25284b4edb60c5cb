//! Several workers look for what is not known: each in other threads and at other locations, each with a book and a solver of its own.
//!
//! They go in rounds. What one has found in a round, all of them run and enter, in the order of the workers. So their books stay the same, and so does everything
//! that is found, however fast anybody is.

use super::{Cumulative, Verdict};
use crate::execution::{Comparable, Describe};
use crate::knowledge::book::EdgeId;
use crate::knowledge::causality::Prediction;
use crate::search::{Options, StopReason, Watch};
use std::sync::{Barrier, Mutex, PoisonError};

/// Which part of what is not known somebody looks for.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) worker: usize,
    pub(super) n_workers: usize,
}

/// An execution by edges that were not known.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) prediction: Prediction,
    pub(super) edges: Vec<EdgeId>,
}

/// What a worker has come to in a round.
type Finding = Result<Option<Found>, StopReason>;

/// Where workers wait for each other and tell what they have found.
struct Exchange {
    barrier: Barrier,
    findings: Mutex<Vec<Finding>>,
}

impl Exchange {
    fn new(n_workers: usize) -> Exchange {
        Exchange { barrier: Barrier::new(n_workers), findings: Mutex::new(vec![Ok(None); n_workers]) }
    }

    /// Tells the others, and gives what everybody has found.
    fn swap(&self, worker: usize, finding: Finding) -> Vec<Finding> {
        let findings = || self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings()[worker] = finding;
        self.barrier.wait();
        let all = findings().clone();
        self.barrier.wait();
        all
    }
}

/// Runs until everything is known, with the help of others. The search is left as if it had done it all alone.
pub(super) fn explore<'a, S: Comparable>(
    search: &mut Cumulative<'a, S>,
    subject: &'a S,
    options: &'a Options,
    watch: &'a dyn Watch,
) -> Result<(), StopReason> {
    let n_workers = options.jobs.max(1);
    let exchange = Exchange::new(n_workers);
    std::thread::scope(|scope| {
        for worker in 1..n_workers {
            let exchange = &exchange;
            scope.spawn(move || {
                let mut search = Cumulative::new(subject, options, watch);
                let begun = search.execute(&Prediction(vec![])).map(drop);
                // The first worker tells why it ended.
                let _ = search.explore_share(begun, Share { worker, n_workers }, exchange);
            });
        }
        search.explore_share(Ok(()), Share { worker: 0, n_workers }, &exchange)
    })
}

impl<S: Describe> Cumulative<'_, S> {
    /// Runs until everything is known, alone.
    pub(super) fn explore_alone(&mut self) -> Result<(), StopReason> {
        self.explore_share(Ok(()), Share { worker: 0, n_workers: 1 }, &Exchange::new(1))
    }

    /// Runs until everything is known, unless what was done so far has given a reason to stop. An alarm may ring for one worker before the others hear it, so whoever has a reason tells it: nobody waits for somebody who has gone.
    fn explore_share(&mut self, mut so_far: Verdict, share: Share, exchange: &Exchange) -> Verdict {
        loop {
            let finding = match so_far {
                Ok(()) => self.find(share),
                Err(stop) => Err(stop),
            };
            let round = exchange.swap(share.worker, finding);
            let round = round.into_iter().collect::<Result<Vec<_>, _>>()?;
            if round.iter().all(Option::is_none) {
                return Ok(());
            }
            so_far = round.iter().flatten().try_for_each(|found| self.follow_up(found));
        }
    }

    /// Runs what was found, unless it has become known since.
    fn follow_up(&mut self, found: &Found) -> Result<(), StopReason> {
        if found.edges.iter().all(|&edge| self.book.edges[edge as usize].known) {
            return Ok(());
        }
        match self.execute(&found.prediction)? {
            true => Ok(()),
            false => Err(StopReason::Failed("an execution showed nothing new".to_string())),
        }
    }
}
