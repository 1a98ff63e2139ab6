//! The parts of this machine, as the kernel describes them under `/sys`. Launcher and runtime mean the same by them.

use super::affinity::Part;

/// Processors of the part of the machine that processor `p` is in; only itself if the kernel does not say.
pub fn part_of(part: Part, p: usize) -> Vec<usize> {
    let cpu = format!("/sys/devices/system/cpu/cpu{p}");
    let read = |path: String| std::fs::read_to_string(path).ok();
    let list = match part {
        Part::Threads => None,
        Part::Cores => read(format!("{cpu}/topology/thread_siblings_list")),
        Part::Sockets => read(format!("{cpu}/topology/core_siblings_list")),
        Part::LlCaches => (0..16)
            .filter_map(|i| {
                let level: u32 = read(format!("{cpu}/cache/index{i}/level"))?.trim().parse().ok()?;
                Some((level, read(format!("{cpu}/cache/index{i}/shared_cpu_list"))?))
            })
            .max()
            .map(|(_, list)| list),
        Part::NumaDomains => (0..1024)
            .map_while(|node| read(format!("/sys/devices/system/node/node{node}/cpulist")))
            .find(|list| cpu_list(list).contains(&p))
            // A machine that has none is one.
            .or_else(|| read("/sys/devices/system/cpu/online".into())),
    };
    list.map(|list| cpu_list(&list)).filter(|list| list.contains(&p)).unwrap_or_else(|| vec![p])
}

/// The kernel's lists: `0-3,8`.
fn cpu_list(text: &str) -> Vec<usize> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_lists() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list(""), Vec::<usize>::new());
    }
}
