//! Which orderings are too weak: stronger ones with which a graph could not be, or with which nothing would be wrong with it.
//!
//! One place of the source is strengthened at a time, as little as possible first, and the graph is asked whether it is
//! still an execution. If no place alone does it, all are made as strong as can be, and then as weak as they can be
//! again one after the other: none of what is left can be weaker.

use crate::base::Span;
use crate::execution::graph::{Event, Flaw, Graph, Id, Kind, Mode, Names, Object};

/// Larger graphs are left as they are: every question takes time that grows with the square of their length.
const MOST_EVENTS: usize = 400;

/// Stronger modes of some events, and why the graph could not be with them; nothing if it is only ordered then.
pub(super) struct Stronger {
    pub(super) changes: Vec<(Id, Mode)>,
    pub(super) flaw: Option<Flaw>,
}

/// Looks for stronger modes. `is_wrong` says whether something is wrong with the graph besides that it can be.
pub(super) fn advise(graph: &Graph, names: &Names, is_wrong: impl Fn(&Graph) -> bool) -> Option<Stronger> {
    if graph.len() > MOST_EVENTS {
        return None;
    }
    let search = Search { graph, sites: sites(graph, names), is_wrong };
    search.alone().or_else(|| search.together())
}

/// A place of the source, with what happened there.
struct Site {
    place: (Span, Class),
    mode: Mode,
    events: Vec<Id>,
}

/// What orderings can be written there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Load,
    Store,
    Update,
    Fence,
}

impl Class {
    fn of(event: &Event, names: &Names) -> Option<Class> {
        let is_cell = || matches!(names.object(event.loc), Object::Cell(_));
        event.mode.ordering()?;
        match event.kind {
            Kind::Fence => Some(Class::Fence),
            Kind::Read | Kind::Write if !is_cell() => None,
            Kind::Read | Kind::Write if event.update => Some(Class::Update),
            Kind::Read => Some(Class::Load),
            Kind::Write => Some(Class::Store),
            _ => None,
        }
    }

    /// Stronger modes, weakest first.
    fn stronger(self, than: Mode) -> impl DoubleEndedIterator<Item = Mode> {
        let all: &[Mode] = match self {
            Class::Load => &[Mode::Acquire, Mode::SeqCst],
            Class::Store => &[Mode::Release, Mode::SeqCst],
            Class::Update | Class::Fence => &[Mode::Acquire, Mode::Release, Mode::AcqRel, Mode::SeqCst],
        };
        let is_stronger = move |mode: &Mode| {
            let includes = (!than.acquires() || mode.acquires()) && (!than.releases() || mode.releases());
            *mode != than && than != Mode::SeqCst && includes
        };
        all.iter().copied().filter(is_stronger)
    }
}

fn sites(graph: &Graph, names: &Names) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    for (id, event) in graph.events().iter().enumerate() {
        let Some(class) = Class::of(event, names) else { continue };
        let place = (event.span, class);
        match sites.iter_mut().find(|site| site.place == place && site.mode == event.mode) {
            Some(site) => site.events.push(id as Id),
            None => sites.push(Site { place, mode: event.mode, events: vec![id as Id] }),
        }
    }
    sites
}

struct Search<'g, F> {
    graph: &'g Graph,
    sites: Vec<Site>,
    is_wrong: F,
}

impl<F: Fn(&Graph) -> bool> Search<'_, F> {
    /// The weakest change of one place that does it; of several, the last.
    fn alone(&self) -> Option<Stronger> {
        let rank = |mode: Mode| match mode {
            Mode::SeqCst => 2,
            Mode::AcqRel => 1,
            _ => 0,
        };
        let mut tries: Vec<(usize, Mode)> = Vec::new();
        for (at, site) in self.sites.iter().enumerate() {
            tries.extend(site.place.1.stronger(site.mode).map(|mode| (at, mode)));
        }
        tries.sort_by_key(|&(at, mode)| (rank(mode), std::cmp::Reverse(at)));
        let unchanged: Vec<Mode> = self.sites.iter().map(|site| site.mode).collect();
        tries.into_iter().find_map(|(at, mode)| {
            let mut modes = unchanged.clone();
            modes[at] = mode;
            self.with(&modes)
        })
    }

    /// Changes of several places, none of which can be left out or be weaker.
    fn together(&self) -> Option<Stronger> {
        let strongest = |site: &Site| site.place.1.stronger(site.mode).next_back().unwrap_or(site.mode);
        let mut modes: Vec<Mode> = self.sites.iter().map(strongest).collect();
        let mut found = self.with(&modes)?;
        for (at, site) in self.sites.iter().enumerate() {
            for mode in std::iter::once(site.mode).chain(site.place.1.stronger(site.mode)) {
                let strong = std::mem::replace(&mut modes[at], mode);
                if let Some(weaker) = self.with(&modes) {
                    found = weaker;
                    break;
                }
                modes[at] = strong;
            }
        }
        Some(found)
    }

    /// What comes of these modes of the places, if it is enough.
    fn with(&self, modes: &[Mode]) -> Option<Stronger> {
        let changed = self.sites.iter().zip(modes).filter(|(site, mode)| site.mode != **mode);
        let mut all: Vec<Mode> = self.graph.events().iter().map(|event| event.mode).collect();
        let mut changes = Vec::new();
        for (site, &mode) in changed {
            site.events.iter().for_each(|&id| all[id as usize] = mode);
            changes.push((site.events[0], mode));
        }
        let graph = self.graph.with_modes(|id| all[id as usize]);
        let flaw = graph.flaw();
        (flaw.is_some() || !(self.is_wrong)(&graph)).then_some(Stronger { changes, flaw })
    }
}
