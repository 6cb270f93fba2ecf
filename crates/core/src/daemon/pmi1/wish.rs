//! Translates a spawn by PMI-1 into a submission. Keys of an `MPI_Info` that the MPI standard reserves are obeyed,
//! as are those that name a session; the standard lets all others have no effect.

use ferrite_pmi1::{Spawn, SpawnApp};
use ferrite_rm::hostlist;
use ferrite_types::{AppContext, HostSelection, JobSpec, SessionId};
use ferrite_wire::control::{SessionChoice, Submission};

/// Translates a spawn.
///
/// # Errors
/// The key whose value cannot be obeyed, in words.
pub(super) fn submission(spawn: Spawn) -> Result<Submission, String> {
    let session = session(&spawn.apps)?;
    let apps = spawn.apps.into_iter().map(app).collect::<Result<_, _>>()?;
    let spec = JobSpec { pmi1: Some(spawn.values), ..JobSpec::new(apps) };
    Ok(Submission { session, ..Submission::of(spec) })
}

fn app(app: SpawnApp) -> Result<AppContext, String> {
    let mut context = AppContext { argv: app.argv, np: Some(app.procs), ..AppContext::default() };
    for (key, value) in app.info {
        match key.as_str() {
            "wdir" => context.wdir = Some(value),
            "path" => context.path = Some(value),
            "host" | "hosts" => {
                let hosts =
                    hostlist::parse(&value).map_err(|e| format!("the value of {key:?} is no list of hosts: {e}"))?;
                context.hosts = HostSelection { hosts: hosts.refs(), ..context.hosts };
            }
            _ => {}
        }
    }
    Ok(context)
}

/// The session: its number comes before its allocation's id, and the id before the requester's own name (spec S2).
fn session(apps: &[SpawnApp]) -> Result<SessionChoice, String> {
    let find = |wanted: &str| {
        let mut all = apps.iter().flat_map(|app| &app.info);
        all.find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
    };
    if let Some(number) = find("PMIX_SESSION_ID") {
        let id = number.parse().map_err(|_| format!("PMIX_SESSION_ID: {number:?} is no number of a session"))?;
        return Ok(SessionChoice::Id(SessionId(id)));
    }
    let id = find("PMIX_ALLOC_ID").map(|id| SessionChoice::Alloc(id.into()));
    Ok(id.or_else(|| find("PMIX_ALLOC_REQ_ID").map(|name| SessionChoice::Ref(name.into()))).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(info: &[(&str, &str)]) -> Result<Submission, String> {
        let info = info.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let app = SpawnApp { argv: vec!["a".to_owned()], procs: 2, info };
        submission(Spawn { apps: vec![app], values: Vec::new() })
    }

    #[test]
    fn reserved_keys_are_obeyed() {
        let wish = wish(&[("wdir", "/w"), ("path", "/p"), ("host", "n1,n2"), ("soft", "1:2")]).expect("it is sound");
        let app = &wish.spec.apps[0];
        assert_eq!((app.np, app.hosts.hosts.len()), (Some(2), 2));
        assert_eq!((app.wdir.as_deref(), app.path.as_deref()), (Some("/w"), Some("/p")));
        assert_eq!(wish.spec.pmi1, Some(Vec::new()), "it counts as spawned by PMI-1 without entries");
    }

    #[test]
    fn hosts_that_are_none_are_named() {
        assert!(wish(&[("hosts", "n1,,n2")]).is_err_and(|reason| reason.contains("hosts")));
    }

    #[test]
    fn a_spawn_may_be_for_a_session() {
        let session = |info: &[(&str, &str)]| wish(info).map(|wish| wish.session);
        assert_eq!(session(&[("PMIX_ALLOC_ID", "a1"), ("PMIX_SESSION_ID", "3")]), Ok(SessionChoice::Id(SessionId(3))));
        assert_eq!(
            session(&[("PMIX_ALLOC_REQ_ID", "r"), ("PMIX_ALLOC_ID", "a")]),
            Ok(SessionChoice::Alloc("a".into()))
        );
        assert!(session(&[("PMIX_SESSION_ID", "x")]).is_err());
    }
}
