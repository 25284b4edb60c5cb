//! The tables of the papers that this checker grew from, as published, and which programs of the corpus they are about.
//!
//! Signs in the numbers: `*` did not end within an hour, `!` ended without finding the error, `⊖` the tool failed, OOM out of memory. A dash: not
//! published.

use unthread_checker::execution::MemoryModel;

/// A published table, and what to measure beside it.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) source: &'static str,
    /// Columns as published.
    pub(super) columns: &'static [&'static str],
    pub(super) measure: Measure,
    pub(super) rows: &'static [Row],
}

/// What our columns show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Executions until everything is covered, under SC, TSO and PSO.
    All,
    /// Executions until everything is covered, under SC.
    AllSc,
    /// Executions until the first error, under SC, TSO and PSO.
    FirstError,
    /// Executions until the first error, under SC.
    FirstErrorSc,
}

impl Measure {
    /// The memory models of our columns.
    pub(super) fn memories(self) -> &'static [MemoryModel] {
        match self {
            Measure::All | Measure::FirstError => &MemoryModel::MACHINES,
            Measure::AllSc | Measure::FirstErrorSc => &[MemoryModel::Sc],
        }
    }
}

/// One program.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) published: &'static [&'static str],
    /// The file in `corpus/programs/papers`.
    pub(super) program: &'static str,
    pub(super) defines: &'static [(&'static str, i64)],
}

const OOPSLA: &str = "S. Huang and J. Huang, Maximal Causality Reduction for TSO and PSO, OOPSLA 2016";
const SLIDES: &str = "J. Huang, Model Checking with Maximal Causality Reduction, slides";

const DPOR_MCR: &[&str] = &["DPOR sc", "tso", "pso", "MCR sc", "tso", "pso"];

const fn row(
    name: &'static str,
    published: &'static [&'static str],
    program: &'static str,
    defines: &'static [(&'static str, i64)],
) -> Row {
    Row { name, published, program, defines }
}

/// Every table.
pub(super) const TABLES: &[Table] = &[
    Table {
        title: "Table 1: the example of Figure 6, executions to cover everything",
        source: OOPSLA,
        columns: DPOR_MCR,
        measure: Measure::All,
        rows: &[
            row("Example N=1", &["4", "4", "⊖", "2", "2", "10"], "example", &[("N", 1)]),
            row("Example N=2", &["105", "105", "⊖", "43", "43", "89"], "example", &[("N", 2)]),
            row("Example N=3", &["4282", "4282", "⊖", "296", "296", "819"], "example", &[("N", 3)]),
            row("Example N=4", &["14840*", "14840*", "⊖", "2767", "2767", "8420"], "example", &[("N", 4)]),
        ],
    },
    Table {
        title: "Table 3: executions to cover everything",
        source: OOPSLA,
        columns: DPOR_MCR,
        measure: Measure::All,
        rows: &[
            row("Dekker", &["248", "252", "508", "62", "98", "155"], "dekker", &[]),
            row("Lamport", &["128", "208", "2672", "14", "91", "102"], "lamport", &[]),
            row("Bakery", &["350", "1164", "2040", "77", "158", "165"], "bakery", &[]),
            row("Peterson", &["36", "95", "120", "13", "18", "19"], "peterson", &[]),
            row("StackUnsafe", &["252", "252", "252", "29", "46", "108"], "stack_unsafe", &[]),
            row("RVExample", &["1959", "⊖", "⊖", "57", "64", "70"], "rvexample", &[]),
            row("Example N=1", &["4", "4", "⊖", "2", "2", "10"], "example", &[("N", 1)]),
            row("Example N=2", &["105", "105", "⊖", "43", "43", "89"], "example", &[("N", 2)]),
            row("Example N=3", &["4282", "4282", "⊖", "296", "296", "819"], "example", &[("N", 3)]),
            row("Example N=4", &["14840*", "14840*", "⊖", "2767", "2767", "8420"], "example", &[("N", 4)]),
        ],
    },
    Table {
        title: "Table 4: executions to the first error",
        source: OOPSLA,
        columns: &["DPOR sc", "tso", "pso", "SATCheck sc", "tso", "MCR sc", "tso", "pso"],
        measure: Measure::FirstError,
        rows: &[
            row("Dekker", &["22", "28", "29", "32*", "68735*", "10", "4", "5"], "dekker", &[]),
            row("Lamport", &["6", "8", "24", "⊖", "⊖", "2", "2", "3"], "lamport", &[]),
            row("Bakery", &["12", "15", "15", "⊖", "⊖", "8", "8", "15"], "bakery", &[("CHECK", 1)]),
            row("Peterson", &["4", "5", "6", "19!", "34282*", "7", "2", "3"], "peterson_check", &[]),
            row("StackUnsafe", &["6", "6", "6", "⊖", "⊖", "2", "2", "2"], "stack_unsafe", &[]),
            row("RVExample", &["301", "⊖", "⊖", "60564*", "70365*", "53", "54", "39"], "rvexample", &[]),
            row("Example", &["14840!", "14840!", "⊖", "1!", "1!", "2767!", "2767!", "3"], "example", &[]),
        ],
    },
    Table {
        title: "Table 5: executions to cover everything, or to the first exception; ours cover everything",
        source: OOPSLA,
        columns: &["MCR sc", "tso", "pso"],
        measure: Measure::All,
        rows: &[
            row("Account", &["7", "12", "12"], "account", &[]),
            row("Airline", &["8", "11", "11"], "airline", &[]),
            row("StringBuf", &["3", "3", "3"], "stringbuf", &[]),
            row("Allocation", &["30", "30", "30"], "allocation", &[]),
            row("PingPong", &["411", "483", "527"], "pingpong", &[("WORKERS", 5)]),
            row("Weblech", &["178", "103", "116"], "weblech", &[]),
        ],
    },
    Table {
        title: "Finding known errors: executions to the first error",
        source: SLIDES,
        columns: &["ICB", "ICB+DPOR", "MCR"],
        measure: Measure::FirstErrorSc,
        rows: &[
            row("Example (RV)", &["77322 (20s)", "3782 (3s)", "46 (2s)"], "rvexample", &[]),
            row("Account", &["111 (0.2s)", "20 (0.2s)", "2 (0.3s)"], "account", &[]),
            row("Airline", &["669 (1.8s)", "19 (0.8s)", "9 (3s)"], "airline", &[("LOCKED", 0)]),
            row("Allocation", &["15 (0.1s)", "8 (0.3s)", "2 (0.3s)"], "allocation", &[]),
            row("BubbleSort", &["592 (1.2s)", "400 (2.7s)", "4 (4.8s)"], "bubblesort", &[("LOCKED", 0)]),
            row("MTList", &["OOM", "5173 (290s)", "8 (97s)"], "mtlist", &[]),
            row("MTSet", &["OOM", "5480 (267s)", "21 (159s)"], "mtset", &[]),
            row("PingPong", &["648 (3s)", "37 (0.5s)", "2 (0.7s)"], "pingpong", &[("WORKERS", 5)]),
            row("Pool", &["24 (0.3s)", "6 (0.3s)", "3 (0.4s)"], "pool", &[]),
            row("StringBuffer", &["12 (0.1s)", "10 (0.5s)", "2 (0.4s)"], "stringbuf", &[]),
        ],
    },
    Table {
        title: "State-space exploration: executions to cover everything",
        source: SLIDES,
        columns: &["ICB", "ICB+DPOR", "MCR"],
        measure: Measure::AllSc,
        rows: &[
            row("Example (RV)", &["3.3M* (1h)", "26K (10s)", "50 (2s)"], "rvexample", &[]),
            row("Account", &["1.5M* (1h)", "875 (2s)", "3 (0.5s)"], "account", &[]),
            row("Airline", &["326K* (1h)", "3K (3.5s)", "8 (4.5s)"], "airline", &[]),
            row("Allocation", &["OOM", "1.4M* (1h)", "30 (5.6s)"], "allocation", &[]),
            row("BubbleSort", &["OOM", "327K* (1h)", "14K* (1h)"], "bubblesort", &[]),
            row("MTList", &["OOM", "OOM", "382* (1h)"], "mtlist", &[]),
            row("MTSet", &["OOM", "OOM", "457* (1h)"], "mtset", &[]),
            row("PingPong", &["343K* (1h)", "973K* (1h)", "413 (13s)"], "pingpong", &[("WORKERS", 5)]),
            row("Pool", &["510K* (1h)", "1.5K (1.9s)", "3 (0.9s)"], "pool", &[]),
            row("StringBuffer", &["1.3M* (1h)", "427 (0.8s)", "3 (0.4s)"], "stringbuf", &[]),
        ],
    },
    Table {
        title: "Real systems: executions (the fourth column: in parallel)",
        source: SLIDES,
        columns: &["ICB", "ICB+DPOR", "MCR", "MCR parallel"],
        measure: Measure::AllSc,
        rows: &[row("Weblech", &["1229 (OOM)", "1072 (OOM)", "185", "3311"], "weblech", &[])],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_number_for_each_column() {
        for table in TABLES {
            for row in table.rows {
                assert_eq!(row.published.len(), table.columns.len(), "{}: {}", table.title, row.name);
            }
        }
    }
}
