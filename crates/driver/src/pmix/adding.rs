//! Nodes that a spawn request adds (`PMIX_ADD_HOST`, `PMIX_ADD_HOSTFILE`), as `--add-host` and `--add-hostfile` do on a
//! command line. The keys stand with the job or with its apps, and add up. The daemon that serves the caller reads the
//! files; the head decides which nodes exist.

use std::path::Path;

use ferrite_pmix::{App, Info};
use ferrite_pmix_sys as sys;
use ferrite_rm::added::{named_twice, parse_list};
use ferrite_rm::{Added, hostfile};
use ferrite_wire::{AddedHost, GrowRequest};

use super::allocate::slot_change;
use super::placing::{read, text};
use super::spawn::Refused;

/// Returns the grow that precedes the job's placement; `dir` is the directory of an app that names none.
///
/// # Errors
/// A list or a file that cannot be parsed, and a host with two meanings.
pub(super) fn grow(info: &[Info], apps: &[App], dir: &str) -> Result<Option<Box<GrowRequest>>, Refused> {
    let cwd = |app: &App| app.cwd.clone().unwrap_or_else(|| dir.to_owned());
    // A key of the job has no directory of its own.
    let first = apps.first().map(cwd).unwrap_or_default();
    let arrays = std::iter::once((info, first)).chain(apps.iter().map(|app| (&app.info[..], cwd(app))));
    let (mut all, mut is_asked) = (Vec::new(), false);
    for (info, dir) in arrays.flat_map(|(array, dir)| array.iter().map(move |info| (info, dir.clone()))) {
        let Some(hosts) = hosts(info, Path::new(&dir))? else { continue };
        is_asked = true;
        for added in hosts {
            // Two apps may name the same nodes.
            if !all.contains(&added) {
                all.push(added);
            }
        }
    }
    if let Some(twice) = named_twice(&all) {
        return Err(Refused::Malformed(format!("host {} is to be added twice, with different words", twice.host.name)));
    }
    let added = |Added { host, slots }| AddedHost { host, slots: slot_change(slots) };
    let hosts = all.into_iter().map(added).collect();
    Ok(is_asked.then(|| Box::new(GrowRequest { hosts, ..GrowRequest::default() })))
}

/// Returns the hosts that one key names; `None` = the key has another purpose.
fn hosts(info: &Info, dir: &Path) -> Result<Option<Vec<Added>>, Refused> {
    let wrong = |cause: &dyn std::fmt::Display| Refused::Malformed(format!("{}: {cause}", info.key));
    if info.is(sys::PMIX_ADD_HOST) {
        return parse_list(text(info)?).map(Some).map_err(|e| wrong(&e));
    }
    if !info.is(sys::PMIX_ADD_HOSTFILE) {
        return Ok(None);
    }
    let file = text(info)?;
    let content = read(file, dir).map_err(|cause| wrong(&format!("{file}: {cause}")))?;
    hostfile::parse_added(file, &content).map(Some).map_err(|e| wrong(&e))
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::Status;
    use ferrite_types::HostEntry;
    use ferrite_wire::SlotChange;

    use super::super::placing::tests::info;
    use super::super::spawn::submission;
    use super::*;

    fn app(cwd: Option<&str>, info: Vec<Info>) -> App {
        App {
            argv: vec!["a".to_owned()],
            arg0: None,
            env: Vec::new(),
            cwd: cwd.map(str::to_owned),
            maxprocs: 1,
            info,
            required: Vec::new(),
        }
    }

    fn brings(job: &[Info], apps: &[App]) -> Result<Option<Vec<AddedHost>>, Refused> {
        submission(job, apps, "").map(|wish| wish.grow.map(|grow| grow.hosts))
    }

    fn host(name: &str, slots: SlotChange) -> AddedHost {
        AddedHost { host: HostEntry::named(name), slots }
    }

    #[test]
    fn what_the_job_and_its_apps_bring_along_adds_up() {
        let one = app(None, vec![info("pmix.addhost", "n5,n6:4"), info("pmix.host", "n6")]);
        let two = app(None, vec![info("pmix.addhost", "n6:4,n7:+2")]);
        let both = brings(&[info("pmix.addhost", "n5,n8")], &[one, two]);
        let expected = [
            host("n5", SlotChange::Unstated),
            host("n8", SlotChange::Unstated),
            host("n6", SlotChange::Set(4)),
            host("n7", SlotChange::Adjust(2)),
        ];
        assert_eq!(both.unwrap().unwrap(), expected);
        assert_eq!(brings(&[], &[app(None, vec![info("pmix.host", "n6")])]), Ok(None));
    }

    #[test]
    fn files_of_hosts_are_read_where_the_caller_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("more"), "n5 slots=2\nn6 slots=+1\n").unwrap();
        let slots = [("n5", SlotChange::Set(2)), ("n6", SlotChange::Adjust(1))];
        let brings = |job: &[Info], apps: &[App]| {
            brings(job, apps).map(|hosts| {
                hosts.unwrap_or_default().into_iter().map(|added| (added.host.name, added.slots)).collect::<Vec<_>>()
            })
        };
        let expected = Ok(slots.map(|(name, slots)| (name.to_owned(), slots)).to_vec());
        let (at, file) = (dir.path().to_str().unwrap(), || info("pmix.addhostfile", "more"));
        assert_eq!(brings(&[], &[app(Some(at), vec![file()])]), expected);
        assert_eq!(brings(&[file()], &[app(Some(at), vec![])]), expected);
        let told = brings(&[file()], &[app(None, vec![])]).unwrap_err().to_string();
        assert!(told.contains("its directory is not known"), "{told}");
    }

    #[test]
    fn what_cannot_be_added_is_refused() {
        let path = "/no/such/file";
        for (key, value, cause) in [
            ("pmix.addhost", "n5,,n6", "pmix.addhost: "),
            ("pmix.addhost", "", "pmix.addhost: "),
            ("pmix.addhost", "+e", "names no host"),
            ("pmix.addhost", "^n5", "names no host"),
            ("pmix.addhost", "n5:0", "without slots"),
            ("pmix.addhost", "n5;reboot", "pmix.addhost: "),
            ("pmix.addhostfile", path, path),
        ] {
            for refused in [brings(&[info(key, value)], &[]), brings(&[], &[app(None, vec![info(key, value)])])] {
                let refused = refused.unwrap_err();
                assert_eq!(refused.status(), Status::BAD_PARAM);
                assert!(refused.to_string().contains(cause), "{value:?}: {refused}");
            }
        }
        let twice = [info("pmix.addhost", "n5:2"), info("pmix.addhost", "n5:3")];
        let told = brings(&twice, &[]).unwrap_err().to_string();
        assert!(told.contains("n5 is to be added twice"), "{told}");
        let told = brings(&[info("pmix.addhost", 7u32)], &[]).unwrap_err().to_string();
        assert!(told.contains("no text"), "{told}");
    }
}
