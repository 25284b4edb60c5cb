//! Names that mean the same in every execution of a check: objects by who made them and as which, places in the source by number.

use super::places::{Block, Place};
use super::source::Sources;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::panic::Location;
use unthread_checker::base::ThreadKey;

/// Names given so far.
#[derive(Default)]
pub(crate) struct Names {
    /// What threads made, and what is named after statics: in the order in which it is made.
    made: FxHashMap<ThreadKey, Vec<u32>>,
    /// What was found somewhere when it was first used.
    found: FxHashMap<Place, u32>,
    /// Blocks of memory that objects were used in.
    blocks: FxHashMap<Block, u32>,
    /// Handles that threads other than those whose stacks they are on have used.
    handles: FxHashMap<(ThreadKey, u32), u32>,
    descriptions: Vec<Description>,
    /// Threads as people see them, and whose token an object is.
    threads: FxHashMap<ThreadKey, String>,
    owners: FxHashMap<u32, ThreadKey>,
    sources: Sources,
    /// What objects are called, as far as anybody has asked, and how many have each name.
    called: RefCell<(Vec<String>, FxHashMap<String, u32>)>,
    sites: Vec<Site>,
    /// Sites in this crate: destructors, which nobody calls by name.
    ours: Vec<u32>,
    /// Addresses of statics.
    statics: Vec<usize>,
    /// Sites by the address of their `Location`.
    known: FxHashMap<usize, u32>,
    /// Why what threads do may depend on more than on the results of operations and the contents of objects.
    unfit: Option<&'static str>,
    /// Some thread made something that must be gone in the end, and to which references are not counted.
    pub(crate) has_uncounted: bool,
    /// Destructors panic when executions are given up.
    pub(crate) destructors_panic: bool,
    /// For places and depths of stacks, whether the thread is in the middle of a destructor there.
    pub(crate) destructors: FxHashMap<(u32, usize), bool>,
    /// It is wanted where objects are dropped, which takes some time to find out.
    pub(crate) locates_drops: bool,
    /// The first object whose name was drawn.
    drawn: Option<u32>,
    /// The first panic that was left to whoever joins the thread.
    panic: Option<String>,
    /// A thread that had not ended when the main thread had, and where it waits.
    left: Option<(String, u32)>,
    /// The place that a long execution came to most often, and how often.
    busiest: Option<(u32, u32)>,
}

/// Statics have this instead of a thread.
pub(super) const STATICS: ThreadKey = ThreadKey(0);

/// The number of no object.
const NONE: u32 = u32::MAX;

/// An object as people see it.
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub(crate) kind: &'static str,
    pub(crate) made_at: u32,
    /// What its cell shows at first, if it was given its number when it was used.
    pub(crate) first: i64,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Names {
    /// The number of a thread's `nth` object.
    pub(crate) fn made_by(&mut self, by: ThreadKey, nth: u32, description: Description) -> u32 {
        let made = self.made.entry(by).or_default();
        let (next, nth) = (self.descriptions.len() as u32, nth as usize);
        if made.len() <= nth {
            made.resize(nth + 1, NONE);
        }
        if made[nth] == NONE {
            made[nth] = next;
        }
        let number = made[nth];
        self.describe(number, description)
    }

    /// The number of an object that was found somewhere.
    pub(crate) fn found_at(&mut self, place: Place, description: Description) -> u32 {
        let next = self.descriptions.len() as u32;
        let number = *self.found.entry(place).or_insert(next);
        if self.description(number).is_some_and(|before| before.first != description.first) {
            // Another thread may have put it there.
            self.mark_unfit("an object begins with another value when the test is run again");
        }
        self.describe(number, description)
    }

    /// The number of a thread's `nth` handle.
    pub(crate) fn handle(
        &mut self,
        owner: ThreadKey,
        nth: u32,
        kind: &'static str,
        made_at: Option<&'static Location<'static>>,
    ) -> u32 {
        let made_at = made_at.map_or(0, |location| self.site(location));
        let next = self.descriptions.len() as u32;
        let number = *self.handles.entry((owner, nth)).or_insert(next);
        self.describe(number, Description { kind, made_at, first: 0 })
    }

    /// The number of a block of memory that objects are used in.
    pub(crate) fn block(&mut self, block: Block, made_at: u32) -> u32 {
        let next = self.descriptions.len() as u32;
        let number = *self.blocks.entry(block).or_insert(next);
        self.describe(number, Description { kind: "memory", made_at, first: 0 })
    }

    /// The same, if objects are known to be used in it.
    pub(crate) fn known_block(&self, block: Block) -> Option<u32> {
        self.blocks.get(&block).copied()
    }

    fn describe(&mut self, number: u32, description: Description) -> u32 {
        match self.descriptions.get_mut(number as usize) {
            Some(known) => *known = description,
            None => self.descriptions.push(description),
        }
        number
    }

    /// What threads do may depend on more than on the results of operations and the contents of objects.
    pub(crate) fn mark_unfit(&mut self, why: &'static str) {
        self.unfit = Some(why);
    }

    /// Why what threads do may depend on more than that.
    pub(crate) fn unfit(&self) -> Option<&'static str> {
        self.unfit
    }

    /// The name of an object was drawn.
    pub(crate) fn note_drawn(&mut self, object: u32) {
        self.drawn.get_or_insert(object);
        self.mark_unfit("objects are named when they are first used");
    }

    /// An object whose name was drawn, and where it was made or first used.
    pub(crate) fn drawn(&self) -> Option<(&'static str, &Site)> {
        let Description { kind, made_at, .. } = self.description(self.drawn?)?;
        Some((kind, self.get_site(made_at)?))
    }

    /// A panic was left to whoever joins the thread.
    pub(crate) fn note_panic(&mut self, told: String) {
        self.panic.get_or_insert(told);
    }

    /// The first panic that was left to whoever joins the thread.
    pub(crate) fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }

    /// A thread had not ended when the main thread had.
    pub(crate) fn note_left(&mut self, thread: String, site: u32) {
        self.left.get_or_insert((thread, site));
    }

    /// A thread that had not ended when the main thread had, and where it waits.
    pub(crate) fn left(&self) -> Option<(&str, &Site)> {
        let (thread, site) = self.left.as_ref()?;
        Some((thread, self.get_site(*site)?))
    }

    /// A long execution came to a place so often.
    pub(crate) fn note_busy(&mut self, times: u32, site: u32) {
        self.busiest = self.busiest.max(Some((times, site)));
    }

    /// The place that a long execution came to most often: the loop that makes it long.
    pub(crate) fn busiest(&self) -> Option<&Site> {
        self.get_site(self.busiest?.1)
    }

    /// The number of a static object.
    pub(crate) fn static_object(&mut self, address: usize, kind: &'static str, used_at: u32) -> u32 {
        let nth = self.lazy(address);
        match self.known_static(address) {
            Some(number) => number,
            None => self.made_by(STATICS, nth, Description { kind, made_at: used_at, first: 0 }),
        }
    }

    /// The number of a static object, if it has one.
    pub(crate) fn known_static(&self, address: usize) -> Option<u32> {
        let nth = self.statics.iter().position(|&known| known == address)?;
        self.made.get(&STATICS)?.get(nth).copied().filter(|&number| number != NONE)
    }

    /// The number of a static among statics.
    pub(crate) fn lazy(&mut self, address: usize) -> u32 {
        let known = self.statics.iter().position(|&known| known == address);
        known.unwrap_or_else(|| {
            self.statics.push(address);
            self.statics.len() - 1
        }) as u32
    }

    /// A thread, as people call it.
    pub(crate) fn note_thread(&mut self, key: ThreadKey, name: String) {
        self.threads.insert(key, name);
    }

    /// What people call a thread.
    pub(crate) fn thread(&self, key: ThreadKey) -> Option<&str> {
        self.threads.get(&key).map(String::as_str)
    }

    /// An object belongs to a thread.
    pub(crate) fn note_owner(&mut self, object: u32, owner: ThreadKey) {
        self.owners.insert(object, owner);
    }

    /// What the thread is called that an object belongs to.
    pub(crate) fn owner(&self, object: u32) -> Option<&str> {
        self.thread(*self.owners.get(&object)?)
    }

    /// What an object is called: by the variable or field that it was made for, where the source is there and says so, or else by its type and line. Of several with the
    /// same name, all but the first have a number.
    pub(crate) fn object_name(&self, object: u32) -> String {
        let (called, times) = &mut *self.called.borrow_mut();
        while called.len() <= object as usize {
            let Some(name) = self.first_name(called.len() as u32) else { return format!("#{object}") };
            let nth = times.entry(name.clone()).or_default();
            *nth += 1;
            called.push(if *nth == 1 { name } else { format!("{name}#{nth}") });
        }
        called[object as usize].clone()
    }

    fn first_name(&self, object: u32) -> Option<String> {
        let Description { kind, made_at, .. } = self.description(object)?;
        if let Some(owner) = self.owner(object) {
            return Some(format!("{kind} of {owner}"));
        }
        let site = self.get_site(made_at)?;
        Some(match self.sources.variable(site) {
            // Neither the count of references nor one of them is what they refer to, and the two ends of a channel are not the channel.
            Some(variable)
                if matches!(kind, "Arc" | "channel" | "reference" | "weak reference" | "end of a channel") =>
            {
                format!("{kind} {variable}")
            }
            Some(variable) if !matches!(kind, "waker" | "message") => variable,
            _ => format!("{kind}@{}", site.line),
        })
    }

    /// What an object is.
    pub(crate) fn description(&self, object: u32) -> Option<Description> {
        self.descriptions.get(object as usize).copied()
    }

    /// The number of a place, unless it is one of ours: then whoever called us says more.
    pub(crate) fn site_of_others(&mut self, location: &'static Location<'static>) -> Option<u32> {
        let site = self.site(location);
        (!self.ours.contains(&site)).then_some(site)
    }

    /// The number of a place.
    pub(crate) fn site(&mut self, location: &'static Location<'static>) -> u32 {
        let address = std::ptr::from_ref(location).addr();
        if let Some(&known) = self.known.get(&address) {
            return known;
        }
        let here = file!().trim_end_matches("runtime/names.rs");
        let is_ours = location.file().starts_with(here);
        let site = Site { file: location.file().to_string(), line: location.line(), column: location.column() };
        let number = self.find_or_add(site);
        self.known.insert(address, number);
        if is_ours {
            self.ours.push(number);
        }
        number
    }

    /// The number of a place that is given by its parts.
    pub(crate) fn find_or_add(&mut self, site: Site) -> u32 {
        let found = self.sites.iter().position(|known| *known == site);
        found.unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        }) as u32
    }

    /// The place with a number.
    pub(crate) fn get_site(&self, number: u32) -> Option<&Site> {
        self.sites.get(number as usize)
    }
}
