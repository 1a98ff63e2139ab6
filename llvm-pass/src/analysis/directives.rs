//! What the module has of OpenMP: whether it calls the OpenMP library, and if not, whether its source has directives that the compiler ignored because it was
//! not told `-fopenmp`. Nothing of those is in the module, so the source is read.

use crate::llvm::Module;

use super::openmp;

/// The module flag that clang and flang set with `-fopenmp`.
const FLAG: &str = "openmp";
/// What makes a directive one that starts threads or tasks; others may stand in a program that is meant to have one thread.
const STARTING: [&str; 5] = ["parallel", "task", "taskloop", "teams", "target"];

/// What the module's note says about OpenMP, as [`dsm_abi::note::OpenMp::from_text`] reads it. The module is as the compiler made it.
pub fn describe(module: Module) -> String {
    let functions = module.functions();
    let mut library = functions.iter().filter(|f| f.is_declaration() && openmp::is_openmp(&f.name()));
    match library.any(|f| !f.users().is_empty()) {
        true => "used".to_owned(),
        false => ignored(module).unwrap_or_else(|| "none".to_owned()),
    }
}

fn ignored(module: Module) -> Option<String> {
    if module.has_flag(FLAG) {
        return None;
    }
    let file = module.name();
    let line = first_directive(&std::fs::read(&file).ok()?)?;
    (!file.contains(['\t', '\n', '\0'])).then(|| format!("ignored\t{file}\t{line}"))
}

/// Line of the first directive that starts threads or tasks, from 1.
fn first_directive(source: &[u8]) -> Option<usize> {
    source.split(|byte| *byte == b'\n').position(is_directive).map(|index| index + 1)
}

fn is_directive(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    if !line.first().is_some_and(|first| b"#!cC*".contains(first)) {
        return false;
    }
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words =
        ["!$omp", "c$omp", "*$omp"].iter().find_map(|sentinel| line.strip_prefix(sentinel)).or_else(|| {
            let pragma = line.strip_prefix('#')?.trim_start().strip_prefix("pragma")?;
            pragma.trim_start().strip_prefix("omp")
        });
    let Some(words) = words.filter(|rest| rest.starts_with([' ', '\t'])) else { return false };
    let mut words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| STARTING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_start_threads_or_tasks_are_found() {
        for line in [
            "#pragma omp parallel",
            "\t# pragma  omp for\n  #pragma omp\tparallel for",
            "#pragma omp task",
            "!$OMP PARALLEL DO",
            "c$omp parallel",
            "#pragma omp target teams",
        ] {
            assert_eq!(first_directive(line.as_bytes()), Some(line.lines().count()), "{line}");
        }
    }

    #[test]
    fn others_are_none() {
        for line in [
            "",
            "#pragma omp simd",
            "#pragma omp for",
            "// #pragma omp parallel",
            "#pragma ompx parallel",
            "#pragma once parallel",
            "#include \"parallel omp\"",
            "cout << parallel;",
            "!$omp barrier",
            "#pragma omp declare simd notinbranch",
        ] {
            assert_eq!(first_directive(line.as_bytes()), None, "{line}");
        }
    }
}
