//! What comes before what, kept up to date while orders are added and taken back.
//!
//! Places stand in chains, in the order of their indices; *arcs* say that one place comes before another, and why. Every place has a clock: for each chain, the first
//! index that is not known to be before it. So a new arc that closes a cycle is noticed at once, and explained by the reasons along it. A place that is put between others
//! of its chain is before whoever is after those: clocks speak of indices, whether or not there is anything.

use super::Lit;
use smallvec::SmallVec;

/// Something that has its place in the order, by the order in which they were added.
pub(crate) type Point = u32;

/// Literals that are true and from which something follows.
pub(crate) type Reasons = SmallVec<[Lit; 4]>;

/// What adding orders comes to: an error gives literals that cannot all be true.
pub(crate) type Consistency = Result<(), Reasons>;

/// Places and what is known of their order.
pub(crate) struct Precedence {
    /// The indices that are taken, and by what, in order.
    chains: Vec<Vec<(u32, Point)>>,
    places: Vec<Position>,
    clocks: Vec<u32>,
    /// Arcs from each place. Longer than the places: lists are kept for those to come.
    out: Vec<Vec<u32>>,
    arcs: Vec<Arc>,
    undo: Vec<Undo>,
    /// Clocks that have grown since somebody looked: the place, the chain, and what the clock was.
    pub(crate) grown: Vec<(Point, u32, u32)>,
    work: Vec<Point>,
}

#[derive(Clone, Copy)]
struct Position {
    chain: u32,
    index: u32,
}

struct Arc {
    from: Point,
    to: Point,
    why: Reasons,
}

enum Undo {
    Place,
    Arc,
    Clock { at: u32, was: u32 },
}

impl Precedence {
    pub(crate) fn new(n_chains: usize) -> Precedence {
        Precedence {
            chains: vec![vec![]; n_chains],
            places: vec![],
            clocks: vec![],
            out: vec![],
            arcs: vec![],
            undo: vec![],
            grown: vec![],
            work: vec![],
        }
    }

    /// Places that fill their chains, given by chain and index, with arcs that always hold. Requires that these make no cycle.
    pub(crate) fn of(n_chains: usize, positions: &[(u32, u32)], arcs: &[(Point, Point)]) -> Precedence {
        let mut precedence = Precedence::new(n_chains);
        precedence.places = positions.iter().map(|&(chain, index)| Position { chain, index }).collect();
        precedence.clocks = vec![0; positions.len() * n_chains];
        precedence.out = vec![vec![]; positions.len()];
        for (place, &(chain, index)) in positions.iter().enumerate() {
            precedence.chains[chain as usize].push((index, place as Point));
        }
        precedence.chains.iter_mut().for_each(|members| members.sort_unstable());
        for &(from, to) in arcs {
            precedence.out[from as usize].push(precedence.arcs.len() as u32);
            precedence.arcs.push(Arc { from, to, why: Reasons::new() });
        }
        precedence.tell_time();
        precedence
    }

    /// Sets all clocks, each place after those before it.
    fn tell_time(&mut self) {
        let mut n_open = vec![0; self.places.len()];
        for place in 0..self.places.len() {
            self.successors(place as Point).for_each(|next| n_open[next as usize] += 1);
        }
        let mut ready: Vec<Point> =
            (0..self.places.len() as Point).filter(|&place| n_open[place as usize] == 0).collect();
        let n_chains = self.chains.len();
        while let Some(place) = ready.pop() {
            let Position { chain, index } = self.places[place as usize];
            self.clocks[place as usize * n_chains + chain as usize] = index + 1;
            let successors: SmallVec<[Point; 4]> = self.successors(place).collect();
            for next in successors {
                self.pass_on(place, next);
                n_open[next as usize] -= 1;
                if n_open[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        self.undo.clear();
        self.grown.clear();
    }

    /// A new place in a chain. Requires that the index is not taken.
    pub(crate) fn place(&mut self, chain: u32, index: u32) -> Point {
        let (place, n_chains) = (self.places.len() as Point, self.chains.len());
        let at = self.position(chain, index);
        let members = &mut self.chains[chain as usize];
        let before = at.checked_sub(1).map(|at| members[at].1);
        members.insert(at, (index, place));
        self.places.push(Position { chain, index });
        match before {
            Some(before) => {
                let row = before as usize * n_chains;
                self.clocks.extend_from_within(row..row + n_chains);
            }
            None => self.clocks.resize(self.clocks.len() + n_chains, 0),
        }
        self.clocks[place as usize * n_chains + chain as usize] = index + 1;
        if self.out.len() < self.places.len() {
            self.out.push(vec![]);
        }
        self.undo.push(Undo::Place);
        place
    }

    /// How many places of a chain have smaller indices.
    pub(crate) fn position(&self, chain: u32, index: u32) -> usize {
        let members = &self.chains[chain as usize];
        // In a chain without gaps it is the index itself.
        match members.get(index as usize) {
            Some(member) if member.0 == index => index as usize,
            _ => members.partition_point(|member| member.0 < index),
        }
    }

    /// The indices and places of a chain, in order.
    pub(crate) fn chain(&self, chain: u32) -> &[(u32, Point)] {
        &self.chains[chain as usize]
    }

    /// The last place of a chain before an index.
    pub(crate) fn last_before(&self, chain: u32, index: u32) -> Option<Point> {
        self.chains[chain as usize][..self.position(chain, index)].last().map(|member| member.1)
    }

    /// The first place of a chain at an index or after it.
    pub(crate) fn first_from(&self, chain: u32, index: u32) -> Option<Point> {
        self.chains[chain as usize].get(self.position(chain, index)).map(|member| member.1)
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The first index of a chain that is not known to be before a place.
    pub(crate) fn clock(&self, place: Point, chain: u32) -> u32 {
        self.clocks[place as usize * self.chains.len() + chain as usize]
    }

    /// Whether one place is before another, or is it.
    pub(crate) fn is_before(&self, first: Point, second: Point) -> bool {
        let Position { chain, index } = self.places[first as usize];
        self.clock(second, chain) > index
    }

    /// From now on one place is before another. If it cannot be: reasons why not.
    pub(crate) fn arc(&mut self, from: Point, to: Point, why: Reasons) -> Consistency {
        if self.is_before(to, from) {
            let mut reasons = why;
            self.explain(to, from, &mut reasons);
            return Err(reasons);
        }
        let is_known = self.is_before(from, to);
        self.out[from as usize].push(self.arcs.len() as u32);
        self.arcs.push(Arc { from, to, why });
        self.undo.push(Undo::Arc);
        if !is_known {
            self.pass_on(from, to);
            self.spread(to);
        }
        Ok(())
    }

    /// Makes clocks agree with what a place knows, from there on.
    fn spread(&mut self, from: Point) {
        let mut work = std::mem::take(&mut self.work);
        work.push(from);
        while let Some(place) = work.pop() {
            if let Some(next) = self.next(place)
                && self.pass_on(place, next)
            {
                work.push(next);
            }
            for at in 0..self.out[place as usize].len() {
                let to = self.arcs[self.out[place as usize][at] as usize].to;
                if self.pass_on(place, to) {
                    work.push(to);
                }
            }
        }
        self.work = work;
    }

    /// Says whether there was anything that the second place's clock did not say.
    fn pass_on(&mut self, from: Point, to: Point) -> bool {
        let n_chains = self.chains.len();
        let mut has_grown = false;
        for chain in 0..n_chains {
            let known = self.clocks[from as usize * n_chains + chain];
            let at = to as usize * n_chains + chain;
            let was = self.clocks[at];
            if known > was {
                has_grown = true;
                self.clocks[at] = known;
                self.undo.push(Undo::Clock { at: at as u32, was });
                self.grown.push((to, chain as u32, was));
            }
        }
        has_grown
    }

    fn next(&self, place: Point) -> Option<Point> {
        let Position { chain, index } = self.places[place as usize];
        self.first_from(chain, index + 1)
    }

    /// Adds the reasons along a way from one place to another. Requires that the first is before the second.
    pub(crate) fn explain(&self, from: Point, to: Point, reasons: &mut Reasons) {
        let goal = self.places[to as usize];
        let mut at = from;
        while self.places[at as usize].chain != goal.chain || self.places[at as usize].index > goal.index {
            let arcs = self.out[at as usize].iter().map(|&arc| &self.arcs[arc as usize]);
            let leading = arcs.clone().find(|arc| arc.to == to);
            if let Some(next) = self.next(at).filter(|&next| leading.is_none() && self.is_before(next, to)) {
                at = next;
                continue;
            }
            let leading = leading
                .or_else(|| arcs.clone().filter(|arc| self.is_before(arc.to, to)).min_by_key(|arc| arc.why.len()));
            let arc = leading.expect("clocks follow arcs");
            reasons.extend_from_slice(&arc.why);
            at = arc.to;
        }
    }

    /// The places that come right after a place, as far as is known.
    pub(crate) fn successors(&self, place: Point) -> impl Iterator<Item = Point> + '_ {
        let arcs = self.out[place as usize].iter().map(|&arc| self.arcs[arc as usize].to);
        self.next(place).into_iter().chain(arcs)
    }

    /// Where to go back to.
    pub(crate) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Takes back everything since a mark.
    pub(crate) fn go_back(&mut self, mark: usize) {
        let n_chains = self.chains.len();
        self.grown.clear();
        while self.undo.len() > mark {
            match self.undo.pop().expect("there is more") {
                Undo::Clock { at, was } => self.clocks[at as usize] = was,
                Undo::Arc => {
                    let arc = self.arcs.pop().expect("it was added");
                    self.out[arc.from as usize].pop();
                }
                Undo::Place => {
                    let Position { chain, index } = self.places.pop().expect("it was added");
                    let at = self.position(chain, index);
                    self.chains[chain as usize].remove(at);
                    self.clocks.truncate(self.places.len() * n_chains);
                }
            }
        }
    }
}
