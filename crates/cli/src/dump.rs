//! `--dump-smt2`: every question that was put to a solver, as a file.

use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use unthread_checker::solver::Query;

/// A folder that questions are written to.
pub(crate) struct Dump {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    n_written: u64,
    /// What went wrong first.
    error: Option<anyhow::Error>,
}

impl Dump {
    /// Makes the folder if it is not there.
    pub(crate) fn into(folder: &Path) -> anyhow::Result<Dump> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(Dump { folder: folder.to_path_buf(), state: Mutex::default() })
    }

    /// Writes a question. The files are numbered, and named after what was asked.
    pub(crate) fn write(&self, what: &str, query: &Query<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.error.is_some() {
            return;
        }
        state.n_written += 1;
        let file = self.folder.join(format!("{:06}-{}.smt2", state.n_written, query.goal.name()));
        let written = std::fs::write(&file, format!("; {what}\n{}", query.smtlib()));
        state.error = written.with_context(|| format!("cannot write {}", file.display())).err();
    }

    /// Whether something could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).error.is_some()
    }

    /// What went wrong, if anything did.
    pub(crate) fn result(&self) -> anyhow::Result<()> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).error.take().map_or(Ok(()), Err)
    }
}
