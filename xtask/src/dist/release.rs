//! The release: version, commit, time. All of it comes from the checkout, so that packages have the same bytes
//! whoever makes them and when.

use std::env;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::Processor;
use crate::workspace::root;

/// A release for one processor.
pub(super) struct Release {
    pub(super) version: String,
    /// The commit; with `+` behind it when files of the checkout differ from it.
    pub(super) commit: String,
    /// The time of the commit (seconds since 1970), which all packed files get.
    pub(super) time_s: u64,
    pub(super) processor: Processor,
    /// The maintainer of the packages: `NAME <ADDRESS>`.
    pub(super) maintainer: String,
}

impl Release {
    pub(super) fn of_checkout(processor: Processor) -> Result<Self> {
        let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "+" };
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])?),
            time_s: git(&["log", "-1", "--format=%ct"])?.parse().context("the time of the commit")?,
            processor,
            maintainer: maintainer(|name| env::var(name).ok(), git(&["log", "-1", "--format=%an <%ae>"])?),
        })
    }

    /// The name of the archive and of the directory in it.
    pub(super) fn name(&self) -> String {
        format!("ferrite-{}-{}-linux", self.version, self.processor.name())
    }
}

/// Debian's own variables say who answers for a package; without both it is the author of the commit.
fn maintainer(variable: impl Fn(&str) -> Option<String>, author: String) -> String {
    match (variable("DEBFULLNAME"), variable("DEBEMAIL")) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        _ => author,
    }
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root()).args(words).output().context("cannot run git")?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn text(path: &str) -> String {
        std::fs::read_to_string(root().join(path)).unwrap_or_default()
    }

    #[test]
    fn files_that_name_the_version_name_this_one() {
        let lines = [
            ("CITATION.cff", format!("\nversion: {VERSION}\n")),
            ("packaging/spack/package.py", format!("version(\"{VERSION}\")")),
            ("packaging/containers/Dockerfile", format!("COPY ferrite-dvm_{VERSION}-1_amd64.deb ")),
            ("packaging/containers/ferrite.def", format!(" ferrite-dvm_{VERSION}-1_amd64.deb ")),
            ("README.md", format!("ferrite-{VERSION}-x86_64-linux.tar.gz")),
            ("CHANGELOG.md", format!("\n## {VERSION}")),
        ];
        let eb = format!("packaging/easybuild/Ferrite-{VERSION}.eb");
        for (path, line) in lines.into_iter().chain([(eb.as_str(), format!("version = '{VERSION}'"))]) {
            assert!(text(path).contains(&line), "{path} has no line {line:?}");
        }
    }

    #[test]
    fn the_page_about_packaging_lists_files_that_are_there() {
        let page = text("packaging/README.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let names: Vec<&str> =
            rows.filter_map(|row| row.split(" | ").next()).flat_map(|cell| cell.split(", ")).collect();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            let file = root().join("packaging").join(name.trim_matches('`'));
            assert!(file.exists(), "{} is not there", file.display());
        }
    }

    #[test]
    fn the_maintainer_is_who_debians_variables_name_or_the_author_of_the_commit() {
        let both = |name: &str| Some(if name == "DEBEMAIL" { "a@b.org" } else { "A B" }.to_owned());
        assert_eq!(maintainer(both, "C <c@d.org>".into()), "A B <a@b.org>");
        let one = |name: &str| (name == "DEBEMAIL").then(|| "a@b.org".to_owned());
        assert_eq!(maintainer(one, "C <c@d.org>".into()), "C <c@d.org>");
    }

    #[test]
    fn the_archive_and_its_directory_have_a_name_with_version_and_processor() {
        let (version, processor) = ("1.2.3".into(), Processor::Aarch64);
        let release = Release { version, commit: String::new(), time_s: 0, processor, maintainer: String::new() };
        assert_eq!(release.name(), "ferrite-1.2.3-aarch64-linux");
    }
}
