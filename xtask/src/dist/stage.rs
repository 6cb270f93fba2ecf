//! The tree from which the packages of distributions are made: everything where such a system has it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use super::layout::{Content, Entry};
use super::release::Release;

/// The commands whose names other packages have too: link in `/usr/bin`, and its man page.
pub(super) const ALTERNATIVES: [&str; 5] = ["prterun", "prun", "prte", "pterm", "prte_info"];

/// The script of both kinds of packages after the installation. A name that another package has without the
/// alternatives stays its own: `update-alternatives` would replace it where it is a link.
pub(super) const AFTER_INSTALL: &str = r#"for name in prterun prun prte pterm prte_info; do
    link=/usr/bin/$name
    page=/usr/share/man/man1/$name
    if { [ -e "$link" ] || [ -L "$link" ]; } && [ "$(readlink "$link")" != "/etc/alternatives/$name" ]; then
        echo "ferrite-dvm: $link stays that of another package; ours is /usr/lib/ferrite-dvm/bin/$name"
        continue
    fi
    update-alternatives --install "$link" "$name" "/usr/lib/ferrite-dvm/bin/$name" 30 \
        --slave "$page.1.gz" "$name.1.gz" "$page.ferrite.1.gz"
done
"#;

/// The script of both kinds of packages before their removal.
pub(super) const BEFORE_REMOVAL: &str = r#"for name in prterun prun prte pterm prte_info; do
    # Quiet for a name that was never ours.
    update-alternatives --quiet --remove "$name" "/usr/lib/ferrite-dvm/bin/$name"
done
"#;

/// A tree below `target/dist`.
pub(super) struct Stage(PathBuf);

impl Stage {
    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Writes a file with its directories.
    pub(super) fn file(&self, path: &str, bytes: &[u8], mode: u32) -> Result<()> {
        let file = self.place(path)?;
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(fs::set_permissions(&file, fs::Permissions::from_mode(mode))?)
    }

    fn link(&self, path: &str, to: &str) -> Result<()> {
        Ok(symlink(to, self.place(path)?)?)
    }

    fn place(&self, path: &str) -> Result<PathBuf> {
        let file = self.path(path);
        fs::create_dir_all(file.parent().context("a file of a package has no directory")?)?;
        Ok(file)
    }
}

/// Lays the tree anew.
pub(super) fn make(release: &Release, files: &[Entry], name: &str) -> Result<Stage> {
    let stage = Stage(super::dir().join(format!("{name}-{}", release.processor.name())));
    if stage.0.exists() {
        fs::remove_dir_all(&stage.0)?;
    }
    for entry in files {
        let path = placed(&entry.path);
        match &entry.content {
            Content::Link(to) => stage.link(&path, to)?,
            Content::Program(bytes) => stage.file(&path, bytes, entry.mode())?,
            Content::Text(bytes) if path.ends_with(".gz") => stage.file(&path, &gzipped(bytes)?, entry.mode())?,
            Content::Text(bytes) => stage.file(&path, bytes, entry.mode())?,
        }
    }
    stage.link("usr/bin/pdvm", "../lib/ferrite-dvm/bin/pdvm")?;
    Ok(stage)
}

/// Returns where a system has a file of the prefix.
fn placed(path: &str) -> String {
    let (dir, file) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(section) = dir.strip_prefix("share/man/man") {
        let (page, _) = file.rsplit_once('.').unwrap_or((file, ""));
        // The alternatives make a link of the plain name.
        let is_shared = page == "prted" || ALTERNATIVES.contains(&page);
        let marked = if is_shared { format!("{page}.ferrite") } else { page.to_owned() };
        return format!("usr/{dir}/{marked}.{section}.gz");
    }
    match dir {
        "bin" => format!("usr/lib/ferrite-dvm/bin/{file}"),
        "share/ferrite" => format!("usr/lib/systemd/user/{file}"),
        "share/zsh/site-functions" => format!("usr/share/zsh/vendor-completions/{file}"),
        "share/doc/ferrite" if file == "CHANGELOG.md" => "usr/share/doc/ferrite-dvm/changelog.gz".to_owned(),
        "share/doc/ferrite" => format!("usr/share/doc/ferrite-dvm/{file}"),
        "share/modulefiles/ferrite" => format!("usr/lib/ferrite-dvm/share/modulefiles/ferrite/{file}"),
        _ => format!("usr/{path}"),
    }
}

/// Compresses without a name and a time.
pub(super) fn gzipped(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gz = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gz.write_all(bytes)?;
    Ok(gz.finish()?)
}

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time as changelogs of packages have it (RFC 2822, in UTC).
pub(super) fn date(time_s: u64) -> String {
    let (days, second) = (time_s / 86_400, time_s % 86_400);
    let (mut year, mut left) = (1970, days);
    let is_leap = |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    let len = |month: usize| match month {
        1 => 28 + u64::from(is_leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    while left >= len(month) {
        left -= len(month);
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let (weekday, month) = (WEEKDAYS[(days % 7) as usize], MONTHS[month]);
    format!("{weekday}, {:02} {month} {year} {hour:02}:{minute:02}:{second:02} +0000", left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_shared_names_leave_the_plain_name_to_the_alternatives() {
        assert_eq!(placed("share/man/man1/prun.1"), "usr/share/man/man1/prun.ferrite.1.gz");
        assert_eq!(placed("share/man/man1/pdvm-session-list.1"), "usr/share/man/man1/pdvm-session-list.1.gz");
        assert_eq!(placed("share/man/man7/prte-parameters.7"), "usr/share/man/man7/prte-parameters.7.gz");
        assert_eq!(placed("bin/prted"), "usr/lib/ferrite-dvm/bin/prted");
        assert_eq!(placed("share/bash-completion/completions/prun"), "usr/share/bash-completion/completions/prun");
    }

    #[test]
    fn the_scripts_of_packages_name_each_alternative() {
        for text in [AFTER_INSTALL, BEFORE_REMOVAL] {
            assert!(text.starts_with(&format!("for name in {}; do\n", ALTERNATIVES.join(" "))), "{text}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(date(951_868_799), "Tue, 29 Feb 2000 23:59:59 +0000");
        assert_eq!(date(1_795_506_000), "Tue, 24 Nov 2026 07:40:00 +0000");
    }
}
