//! The directory that a login gives its user (`$XDG_RUNTIME_DIR`, `/run/user/UID`): a base for session directories that
//! others cannot write to. Only [`super::base`] uses it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ferrite_wire::dvm_contact::runtime_dirs;

/// Directory in which logind lists the users that have such a directory.
const LOGIND_USERS: &str = "/run/systemd/users";

/// Returns the user's own directory, if it stays as long as this process lives.
pub(super) fn own_dir(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let dir = runtime_dirs(variable, uid).into_iter().map(PathBuf::from).find(|dir| is_private(dir, uid))?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let is_noted = Path::new(LOGIND_USERS).join(uid.to_string()).exists();
    stays(is_noted, &groups, uid).then_some(dir)
}

fn is_private(dir: &Path, uid: u32) -> bool {
    fs::symlink_metadata(dir).is_ok_and(|there| there.is_dir() && there.uid() == uid && there.mode() & 0o777 == 0o700)
}

/// True when the directory stays. Logind removes it with the last login, and a login is over when its last process
/// ends. So it stays for descendants of a login, and not for processes that a batch system or a system daemon has
/// started.
fn stays(is_noted: bool, groups: &str, uid: u32) -> bool {
    !is_noted || groups.lines().any(|group| group.contains(&format!("/user-{uid}.slice/")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_others_may_enter_or_that_is_none_is_not_private() {
        let base = tempfile::tempdir().unwrap();
        let uid = rustix::process::getuid().as_raw();
        let dir = base.path().join("dir");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(is_private(&dir, uid));
        assert!(!is_private(&dir, uid + 1));
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        assert!(!is_private(&link, uid));
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(!is_private(&dir, uid));
        assert!(!is_private(&base.path().join("none"), uid));
    }

    #[test]
    fn what_ends_with_a_login_is_for_processes_of_logins() {
        let login = "0::/user.slice/user-1000.slice/session-3.scope\n";
        let batch = "0::/system.slice/slurmstepd.scope/job_7/step_0\n";
        assert!(stays(true, login, 1000));
        assert!(!stays(true, batch, 1000));
        assert!(!stays(true, login, 100));
        // Without logind the directory is never removed.
        assert!(stays(false, batch, 1000));
    }
}
