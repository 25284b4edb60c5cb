//! From a state of a search back to a schedule of the machine.

use super::delays::{Site, site};
use super::search::Search;
use super::space::{How, Origin};
use crate::execution::{IrThread, Operation, State, Subject, ThreadId};
use crate::program::{Pc, Span};
use crate::schedule::{Action, Step};

/// How a state was reached, on the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retraced {
    /// The steps of the machine. At the end of an attack, the hidden stores reach memory.
    pub(crate) steps: Vec<Step>,
    /// The attack, if there was one.
    pub(crate) attack: Option<Attack>,
}

/// An attack, as it went.
#[derive(Clone, Debug)]
pub(crate) struct Attack {
    pub(crate) thread: ThreadId,
    /// The first hidden store, and the last load or store that went ahead of it.
    pub(crate) store: Span,
    pub(crate) ahead: Span,
    /// The last store that went ahead, if no load did after it.
    pub(crate) last: Option<Site>,
    /// Stores, and loads that went ahead of them.
    pub(crate) delays: Vec<(Site, Site)>,
    /// Instructions between the first store and the last that went ahead: stores that were executed, and what was passed.
    pub(crate) stores: Vec<Site>,
    pub(crate) passed: Vec<Site>,
}

impl Search<'_> {
    /// How a state was reached.
    pub(super) fn retrace(&self, at: u32) -> Retraced {
        let mut retraced = Retraced::default();
        let (state, sites) = self.start(&mut retraced.steps);
        let mut walk = Walk { search: self, state, sites, retraced };
        for origin in self.space.path(at) {
            walk.follow(origin);
        }
        walk.let_go();
        walk.retraced
    }

    /// The steps of the machine to a state of phase 0.
    pub(super) fn steps(&self, at: u32) -> Vec<Step> {
        self.retrace(at).steps
    }
}

struct Walk<'s, 'a> {
    search: &'s Search<'a>,
    state: State<IrThread>,
    /// For each thread, where the stores in its buffer stand.
    sites: Vec<Vec<Site>>,
    retraced: Retraced,
}

impl Walk<'_, '_> {
    fn follow(&mut self, origin: Origin) {
        let thread = ThreadId(origin.thread);
        match origin.how {
            How::Step(action) => {
                let emulation = &self.search.emulation;
                let n_threads = self.state.threads.len();
                let (sites, steps) = (&mut self.sites[thread.index()], &mut self.retraced.steps);
                emulation.perform(&mut self.state, sites, Step { thread, action }, steps);
                if self.state.threads.len() > n_threads {
                    self.sites.push(Vec::new());
                    emulation.fill(&mut self.state, &mut self.sites[n_threads], ThreadId(n_threads as u16), steps);
                }
            }
            How::Hide => self.hide(thread),
            How::Hidden(action) => self.hidden_step(thread, action),
            How::Shown => {
                self.hidden_step(thread, Action::Run);
                self.show(thread);
            }
        }
    }

    fn hide(&mut self, thread: ThreadId) {
        let subject = self.search.emulation.machine.subject;
        let stores = self.sites[thread.index()].clone();
        let program = subject.program();
        let span = |(routine, pc): Site| program.routines[routine as usize].spans[pc as usize];
        let store = stores.first().map_or(Span::default(), |&first| span(first));
        let attack = Attack { thread, store, ahead: store, last: None, delays: Vec::new(), stores, passed: Vec::new() };
        self.retraced.attack = Some(attack);
    }

    fn hidden_step(&mut self, thread: ThreadId, action: Action) {
        let machine = &self.search.emulation.machine;
        let before = self.state.threads[thread.index()].local.clone();
        let at = site(machine.subject, &before);
        let operation = machine.subject.operation(&before);
        let step = Step { thread, action };
        let performed = machine.apply(&mut self.state, step);
        self.retraced.steps.push(step);
        if performed.buffered {
            self.sites[thread.index()].push(at);
        }
        if self.retraced.attack.is_none() {
            self.hide(thread);
        }
        let sites = &self.sites[thread.index()];
        let Some(attack) = &mut self.retraced.attack else { return };
        if performed.buffered {
            attack.stores.push(at);
        }
        if matches!(operation, Operation::Read { .. }) {
            (attack.ahead, attack.last) = (machine.subject.span(&before), None);
            attack.delays.extend(sites.iter().map(|&store| (store, at)));
        }
        let passed: Vec<Pc> = machine.subject.passed(&before, performed.result);
        attack.passed.extend(passed.into_iter().map(|pc| (at.0, pc)));
    }

    /// The newest store reaches memory.
    fn show(&mut self, thread: ThreadId) {
        let Some(at) = self.sites[thread.index()].pop() else { return };
        let flush = Step { thread, action: Action::Flush(self.sites[thread.index()].len() as u8) };
        let machine = &self.search.emulation.machine;
        machine.apply(&mut self.state, flush);
        self.retraced.steps.push(flush);
        let Some(attack) = &mut self.retraced.attack else { return };
        let (routine, pc) = at;
        (attack.ahead, attack.last) = (machine.subject.program().routines[routine as usize].spans[pc as usize], Some(at));
    }

    /// The hidden stores reach memory.
    fn let_go(&mut self) {
        let Some(attack) = &self.retraced.attack else { return };
        let flush = Step { thread: attack.thread, action: Action::Flush(0) };
        for _ in 0..self.sites[attack.thread.index()].len() {
            self.search.emulation.machine.apply(&mut self.state, flush);
            self.retraced.steps.push(flush);
        }
    }
}
