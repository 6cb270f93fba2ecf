//! The check that no build output is kept in git: no tracked file lies below a directory `target`.

use anyhow::Result;

use crate::checkout;

pub(crate) fn check() -> Result<()> {
    checkout::report("tracked files", violations(&checkout::paths(false)?))
}

fn violations(paths: &[String]) -> Vec<String> {
    let is_output =
        |path: &&String| path.rsplit_once('/').is_some_and(|(dirs, _)| dirs.split('/').any(|dir| dir == "target"));
    let fault = |path| format!("{path} is build output: take it out with `git rm --cached {path}`");
    paths.iter().filter(is_output).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_keeps_no_build_output() {
        check().unwrap();
    }

    #[test]
    fn a_file_below_a_target_directory_is_found_and_one_of_that_name_is_not() {
        let paths =
            ["target/a", "fuzz/target/b/c", "xtask/src/target.rs", "docs/targets/d", "target"].map(str::to_owned);
        let found = violations(&paths);
        assert!(found.len() == 2 && found[0].contains("rm --cached target/a"), "{found:?}");
    }
}
