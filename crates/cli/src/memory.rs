//! How much memory there is, and how much of it this process has.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Reads again and again how much memory this process has.
pub(crate) struct Meter(File);

impl Meter {
    /// Nothing where the system does not say.
    pub(crate) fn new() -> Option<Meter> {
        let meter = Meter(File::open("/proc/self/status").ok()?);
        meter.resident().map(|_| meter)
    }

    /// Bytes that are in main memory.
    pub(crate) fn resident(&self) -> Option<u64> {
        let mut file = &self.0;
        let mut text = [0; 4096];
        file.seek(SeekFrom::Start(0)).ok()?;
        let length = file.read(&mut text).ok()?;
        field(&String::from_utf8_lossy(&text[..length]), "VmRSS:")
    }
}

/// The bytes that a search may have by default: three quarters of what the machine or its control group has, where that is known.
pub(crate) fn default_limit() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| field(&text, "MemTotal:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| group_limit(line, Path::new("/sys/fs/cgroup")));
    machine.into_iter().chain(limits).min().map(|bytes| bytes / 4 * 3)
}

/// A field of a file below `/proc`, which is in kilobytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What a line of `/proc/self/cgroup` allows: the least that the group and those around it do. A container may not see its group where the line says; then what it sees is its own.
fn group_limit(line: &str, mounted: &Path) -> Option<u64> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let (folder, file) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => (mounted.join("memory"), "memory.limit_in_bytes"),
        _ => return None,
    };
    let group = folder.join(group.trim_start_matches('/'));
    let around = group.ancestors().take_while(|path| path.starts_with(&folder));
    // "max" is no limit, and no number.
    around.filter_map(|path| fs::read_to_string(path.join(file)).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own, with these files.
    fn groups(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("unthread-groups-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn the_group_that_allows_least_decides() {
        let files =
            [("a/memory.max", "5000\n"), ("a/b/memory.max", "max\n"), ("memory/c/memory.limit_in_bytes", "700")];
        let folder = groups("least", &files);
        assert_eq!(group_limit("0::/a/b", &folder), Some(5000));
        assert_eq!(group_limit("0::/elsewhere", &folder), None);
        assert_eq!(group_limit("4:memory:/c", &folder), Some(700));
        assert_eq!(group_limit("4:cpu,memory:/c/not-seen", &folder), Some(700));
        assert_eq!(group_limit("3:cpuset:/c", &folder), None);
        assert_eq!(group_limit("nonsense", &folder), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn fields_are_in_kilobytes() {
        assert_eq!(field("VmHWM:  9 kB\nVmRSS:\t  12 kB\n", "VmRSS:"), Some(12 * 1024));
        assert_eq!(field("VmRSS: many", "VmRSS:"), None);
    }

    #[test]
    fn what_a_process_takes_is_measured() {
        let Some(meter) = Meter::new() else { return };
        let before = meter.resident().unwrap();
        let much = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(meter.resident().unwrap() >= before + (48 << 20), "{}", much.len());
        assert!(default_limit().unwrap() > before);
    }
}
