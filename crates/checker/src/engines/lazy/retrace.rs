//! From a state of a search back to a schedule of the machine.

use super::delays::{Site, site};
use super::search::LazySearch;
use super::space::{How, Origin};
use crate::base::{Action, Span, Step, ThreadId};
use crate::execution::{Comparable, State};
use crate::program::Pc;

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
    /// The last step, if it is a store, and whether that went ahead of the others.
    pub(crate) last: Option<Site>,
    pub(crate) shown: bool,
    /// Stores, and loads that went ahead of them.
    pub(crate) delays: Vec<(Site, Site)>,
    /// Stores that were executed.
    pub(crate) stores: Vec<Site>,
    /// Instructions that were passed from the first store on, and how many of them before the last step.
    pub(crate) passed: Vec<Site>,
    pub(crate) before_last: usize,
}

impl<S: Comparable> LazySearch<'_, S> {
    /// How a state was reached.
    pub(crate) fn retrace(&self, at: u32) -> Retraced {
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
    pub(crate) fn steps(&self, at: u32) -> Vec<Step> {
        self.retrace(at).steps
    }
}

struct Walk<'s, 'a, S: Comparable> {
    search: &'s LazySearch<'a, S>,
    state: State<S::Thread>,
    /// For each thread, where the stores in its buffer stand.
    sites: Vec<Vec<Site>>,
    retraced: Retraced,
}

impl<S: Comparable> Walk<'_, '_, S> {
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
        let program = subject.code();
        let span = |(routine, pc): Site| program.routines[routine as usize].spans[pc as usize];
        let store = stores.first().map_or(Span::default(), |&first| span(first));
        self.retraced.attack = Some(Attack {
            thread,
            store,
            ahead: store,
            last: None,
            shown: false,
            delays: Vec::new(),
            stores,
            passed: Vec::new(),
            before_last: 0,
        });
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
        match &mut self.retraced.attack {
            None => self.hide(thread),
            Some(attack) if performed.buffered => attack.stores.push(at),
            Some(_) => {}
        }
        let sites = &self.sites[thread.index()];
        let Some(attack) = &mut self.retraced.attack else { return };
        (attack.last, attack.shown) = (performed.buffered.then_some(at), false);
        if operation.is_read() {
            attack.ahead = machine.subject.span(&before);
            attack.delays.extend(sites.iter().map(|&store| (store, at)));
        }
        let passed: Vec<Pc> = machine.subject.passed(&before, performed.result);
        attack.before_last = attack.passed.len();
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
        attack.ahead = machine.subject.code().routines[routine as usize].spans[pc as usize];
        attack.shown = true;
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
