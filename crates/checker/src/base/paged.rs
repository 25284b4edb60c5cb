//! Vectors and tables that grow bit by bit. One that is made twice as large is there twice, or three times, while it is moved: a search that is close to its
//! bound on memory would be far beyond it in a moment.

use hashbrown::HashTable;

/// The number of items of a page is a power of two.
const PAGE_BITS: u32 = 16;
const PAGE: usize = 1 << PAGE_BITS;

/// A vector in pages.
pub(crate) struct Paged<T> {
    pages: Vec<Vec<T>>,
    len: usize,
}

impl<T> Paged<T> {
    pub(crate) fn new() -> Self {
        Paged { pages: Vec::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, item: T) {
        if self.len.is_multiple_of(PAGE) {
            // The first page is small for as long as there is little to store.
            let room = if self.pages.is_empty() { 0 } else { PAGE };
            self.pages.push(Vec::with_capacity(room));
        }
        self.pages[self.len >> PAGE_BITS].push(item);
        self.len += 1;
    }
}

impl<T> std::ops::Index<usize> for Paged<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.pages[at >> PAGE_BITS][at & (PAGE - 1)]
    }
}

/// Rows of numbers, each in one piece. A row that does not fit into the rest of a page begins the next one.
pub(crate) struct Rows {
    pages: Vec<Vec<u32>>,
    /// Where each row ends: the number of its page, and the place there.
    ends: Paged<u32>,
    n_numbers: usize,
}

/// The longest row: one with as many threads as there can be has fewer numbers.
const ROW_PAGE_BITS: u32 = 20;
const ROW_PAGE: usize = 1 << ROW_PAGE_BITS;

impl Rows {
    pub(crate) fn new() -> Self {
        Rows { pages: vec![Vec::new()], ends: Paged::new(), n_numbers: 0 }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many numbers they have together.
    pub(crate) fn n_numbers(&self) -> usize {
        self.n_numbers
    }

    /// Whether there may be no room for another row.
    pub(crate) fn is_full(&self) -> bool {
        self.pages.len() >= 1 << (u32::BITS - ROW_PAGE_BITS)
    }

    /// Adds a row, which is not empty.
    pub(crate) fn push(&mut self, row: &[u32]) {
        let page = match self.pages.last_mut() {
            Some(page) if page.len() + row.len() < ROW_PAGE => page,
            _ => {
                self.pages.push(Vec::with_capacity(ROW_PAGE));
                self.pages.last_mut().expect("it was added")
            }
        };
        page.extend_from_slice(row);
        let end = page.len();
        self.ends.push(((self.pages.len() - 1) << ROW_PAGE_BITS | end) as u32);
        self.n_numbers += row.len();
    }

    pub(crate) fn get(&self, at: u32) -> &[u32] {
        let place = |end: u32| ((end >> ROW_PAGE_BITS) as usize, (end as usize) & (ROW_PAGE - 1));
        let (page, end) = place(self.ends[at as usize]);
        let before = at.checked_sub(1).map(|before| place(self.ends[before as usize]));
        let start = before.filter(|before| before.0 == page).map_or(0, |before| before.1);
        &self.pages[page][start..end]
    }
}

/// A hash table of numbers, in parts that grow one at a time.
pub(crate) struct Numbers {
    parts: Vec<HashTable<u32>>,
}

/// The number of parts is a power of two.
const PARTS: usize = 64;

impl Numbers {
    pub(crate) fn new() -> Self {
        Numbers { parts: (0..PARTS).map(|_| HashTable::new()).collect() }
    }

    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(&u32) -> bool) -> Option<u32> {
        self.parts[part(hash)].find(hash, is_it).copied()
    }

    /// Adds a number that is not there.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(&u32) -> u64) {
        self.parts[part(hash)].insert_unique(hash, number, hash_of);
    }
}

/// Tables look at the first and at the last bits.
fn part(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_one_vector() {
        let mut paged = Paged::new();
        (0..200_000).for_each(|item| paged.push(item));
        assert_eq!(paged.len(), 200_000);
        assert!((0..200_000).all(|at| paged[at] == at));
    }

    #[test]
    fn rows_stay_in_one_piece() {
        let row = |at: u32| vec![at; 1 + (at as usize * 7919) % 5000];
        let mut rows = Rows::new();
        (0..2000).for_each(|at| rows.push(&row(at)));
        assert!(rows.pages.len() > 3, "several pages are needed");
        assert!((0..2000).all(|at| rows.get(at) == row(at)));
        assert_eq!(rows.n_numbers(), (0..2000).map(|at| row(at).len()).sum::<usize>());
        let longest = vec![7; ROW_PAGE - 1];
        rows.push(&longest);
        rows.push(&[1]);
        assert!(rows.get(2000) == longest && rows.get(2001) == [1]);
    }
}
