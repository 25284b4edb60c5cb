//! Folders that tests fill, and that are gone when the test is over.

use std::path::{Path, PathBuf};

/// A folder of one test.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A folder with these files, for a test of that name.
    pub(super) fn new(name: &str, files: &[(&str, &str)]) -> Scratch {
        let folder = std::env::temp_dir().join(format!("unthread-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("there is room");
            std::fs::write(path, text).expect("there is room");
        }
        Scratch(folder)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
