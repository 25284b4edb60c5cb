//! What `unthread bench engines` runs: the programs of published measurements, at the sizes that were measured.

use super::papers::{Measure, TABLES};
use unthread_checker::execution::MemoryModel;

/// Constants of a program.
pub(super) type Defines = Vec<(&'static str, i64)>;

/// Something to measure with every engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// The folder in `corpus/programs`, and the file in it.
    pub(super) folder: &'static str,
    pub(super) program: &'static str,
    pub(super) defines: Defines,
    pub(super) question: Question,
    /// The memory models that were measured.
    pub(super) memories: &'static [MemoryModel],
}

/// What the measurement was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// The first error, or that there is none.
    FirstError,
    /// Everything.
    Everything,
    /// The first error, and everything too if there is one.
    Both,
}

/// The folders that there is work in. The first two are those of the founding papers and of the tools that check the same programs.
pub(super) const FOLDERS: [&str; 3] = ["papers", "peers", "satcheck"];

/// Programs that other tools have checked: the sizes that were measured, and those of the program with fences. Some have no size.
const PEERS: &[(&str, &[i64], &[i64])] = &[
    ("bakery", &[1, 2], &[1, 2]),
    ("dekker", &[1, 2], &[1, 2]),
    ("fib_bench", &[2, 3, 4, 5], &[]),
    ("indep", &[4, 8, 16], &[]),
    ("indexer", &[12, 13, 15], &[]),
    ("iriw", &[], &[]),
    ("lamport", &[1, 2], &[1, 2]),
    ("lastzero", &[5, 10, 13], &[]),
    ("lb", &[], &[]),
    ("mcr_example", &[1, 2, 3], &[1, 2]),
    ("mp", &[], &[]),
    ("msqueue", &[2, 3, 4], &[]),
    ("nwdiff", &[3, 5, 7], &[]),
    ("nwsame", &[3, 5, 7, 9], &[]),
    ("peterson", &[1, 2, 3], &[1, 2, 3]),
    ("readers", &[4, 8, 12], &[]),
    ("sb", &[], &[]),
    ("sb_rfi", &[], &[]),
    ("seqlock", &[1, 2, 3], &[1, 2]),
    ("trylock", &[2, 4, 6, 8], &[2, 4]),
    ("trylock0", &[2, 4, 6, 8], &[]),
    ("w22", &[], &[]),
];

/// Programs without a size that were measured with fences too.
const FENCED: &[&str] = &["iriw", "mp", "sb", "w22"];

/// Programs of the papers for which they have no numbers.
const UNCOUNTED: &[&str] = &["counter", "deadlock", "waitnotify"];

/// A program, the parameter that grows, another one with its value, and the sizes.
type Scaled = (&'static str, &'static str, (&'static str, i64), &'static [i64]);

/// SATCheck's programs: what the public tool reaches in less than a minute, and half of it.
const SATCHECK: &[Scaled] = &[
    ("cas_spinlock", "N", ("THREADS", 2), &[2, 40, 80]),
    ("cas_spinlock", "THREADS", ("N", 1), &[3, 10, 90]),
    ("dekker_section", "N", ("N", 2), &[2, 4, 9]),
    ("linux_rwlock", "N", ("N", 2), &[2, 5]),
    ("msqueue", "N", ("N", 2), &[2, 5]),
    ("seqlock", "N", ("N", 2), &[2, 5]),
];

/// What there is to measure in a folder.
pub(super) fn work(folder: &str) -> Vec<Work> {
    match folder {
        "papers" => papers(),
        "peers" => peers(),
        "satcheck" => satcheck(),
        _ => vec![],
    }
}

/// The rows of the tables, each once.
fn papers() -> Vec<Work> {
    let mut all: Vec<Work> = vec![];
    for table in TABLES {
        let question = match table.measure {
            Measure::All | Measure::AllSc => Question::Everything,
            Measure::FirstError | Measure::FirstErrorSc => Question::FirstError,
        };
        for row in table.rows {
            let work = Work {
                folder: "papers",
                program: row.program,
                defines: row.defines.to_vec(),
                question,
                memories: table.measure.memories(),
            };
            let same = |other: &Work| Work { memories: work.memories, ..other.clone() } == work;
            match all.iter_mut().find(|other| same(other)) {
                Some(other) if other.memories.len() < work.memories.len() => *other = work,
                Some(_) => {}
                None => all.push(work),
            }
        }
    }
    let (folder, question, memories) = ("papers", Question::Both, &MemoryModel::MACHINES);
    let uncounted = UNCOUNTED.iter().map(|program| Work { folder, program, defines: vec![], question, memories });
    all.extend(uncounted);
    all
}

fn peers() -> Vec<Work> {
    let mut all = vec![];
    let mut add = |program: &'static str, defines: Defines| {
        let (question, memories) = (Question::Both, &MemoryModel::MACHINES);
        all.push(Work { folder: "peers", program, defines, question, memories });
    };
    for &(program, sizes, fenced) in PEERS {
        if sizes.is_empty() {
            add(program, vec![]);
        }
        sizes.iter().for_each(|&size| add(program, vec![("N", size)]));
        fenced.iter().for_each(|&size| add(program, vec![("N", size), ("FENCED", 1)]));
    }
    FENCED.iter().for_each(|program| add(program, vec![("FENCED", 1)]));
    all
}

fn satcheck() -> Vec<Work> {
    let sizes = SATCHECK.iter().flat_map(|&(program, name, other, sizes)| {
        sizes.iter().map(move |&size| {
            let other = Some(other).filter(|other| other.0 != name);
            Work {
                folder: "satcheck",
                program,
                defines: other.into_iter().chain([(name, size)]).collect(),
                question: Question::FirstError,
                memories: &MemoryModel::MACHINES,
            }
        })
    });
    sizes.collect()
}

impl Work {
    /// The program and its constants.
    pub(super) fn label(&self) -> String {
        let defines = self.defines.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}/{}{}", self.folder, self.program, defines.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_measured_twice() {
        for folder in FOLDERS {
            let all = work(folder);
            assert!(!all.is_empty(), "{folder}");
            for (at, one) in all.iter().enumerate() {
                assert!(!all[at + 1..].contains(one), "{one:?}");
            }
        }
    }
}
