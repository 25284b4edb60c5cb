//! Blocks of memory: to make one is to write each of its cells, and to free one is an event that everything else must
//! happen before.

use super::enumerate::{After, Search, World};
use super::graph::{Kind, Mode};
use super::thread::{Block, Unsupported};
use unthread_checker::base::Loc;

type Next = Result<Vec<(World, After)>, Unsupported>;

impl Search<'_> {
    pub(super) fn allocate(&self, world: &World, index: usize, cells: usize) -> Next {
        let (mut next, after) = self.step(world, index);
        let thread = &mut next.threads[index];
        let loc = Loc::heap(thread.key.0, thread.allocations).ok_or("too many blocks")?;
        thread.allocations += 1;
        let first = next.graph.mo.len();
        for cell in first..first + cells {
            let write = self.add(&mut next, index, Kind::Write { cell, mode: Mode::Plain, value: 0 });
            next.graph.mo.push(vec![write]);
            next.graph.made.push(write);
        }
        next.blocks.push(Block { loc, first, cells, freed: false });
        self.end_step(&mut next, index, loc.pointer())?;
        Ok(vec![(next, after)])
    }

    pub(super) fn free(&self, world: &World, index: usize, pointer: i64) -> Next {
        let loc = Loc::from_pointer(pointer).ok_or("no pointer")?;
        let at = world.blocks.iter().position(|block| block.loc == loc).ok_or("no block")?;
        let Block { first, cells, .. } = world.blocks[at];
        let mut next = self.alone(world, index, Kind::Free { first, cells }, After::default(), 0)?;
        next.iter_mut().for_each(|(world, _)| world.blocks[at].freed = true);
        Ok(next)
    }
}
