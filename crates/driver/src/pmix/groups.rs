//! Translates calls for PMIx groups for the machine, and the answers back. Pure; only [`super::calls`] uses it.

use std::ffi::CStr;

use bytes::Bytes;
use ferrite_pmix::{Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, ProcId, Rank};
use ferrite_wire::{CollectiveResult, GroupBuilt, GroupEntry, GroupPart, GroupRole};

/// Processes by job; no ranks = the whole job.
type ByJob = Vec<(JobId, Vec<Rank>)>;

/// What a process calls for.
#[derive(Debug, PartialEq)]
pub(super) enum Wish {
    /// A group whose members know each other, with the contribution of the local ones.
    Construct(GroupPart),
    /// A group whose members do not know each other.
    Enter(GroupEntry),
    /// The end of a group.
    Destruct,
}

/// Returns what local processes call for (spec L160, L162). `members` finds the jobs of processes, and `procs` are
/// those of the call.
///
/// # Errors
/// A directive that has no effect here would make another group of it than they mean.
pub(super) fn wish(
    makes: bool,
    name: &str,
    procs: &[Proc],
    info: &[Info],
    members: impl Fn(&[Proc]) -> Result<ByJob, Status>,
) -> Result<Wish, Status> {
    if !makes {
        return Ok(Wish::Destruct);
    }
    let part = part(info)?;
    let leaders = find(info, sys::PMIX_GROUP_BOOTSTRAP);
    let more = find(info, sys::PMIX_GROUP_ADD_MEMBERS);
    let leaves_out = [sys::PMIX_GROUP_OPTIONAL, sys::PMIX_GROUP_FT_COLLECTIVE].iter().any(|key| is_set(info, key));
    let role = match (leaders, procs) {
        (Some(Value::Size(leaders)), [_]) => {
            let callers = members(procs)?;
            let [(job, ranks)] = &callers[..] else { return Err(Status::BAD_PARAM) };
            // The only process of a job is the whole job.
            let rank = match (&ranks[..], procs[0].rank) {
                ([rank], _) => *rank,
                ([], Proc::WILDCARD) => return Err(Status::BAD_PARAM),
                ([], rank) => Rank(rank),
                _ => return Err(Status::BAD_PARAM),
            };
            let more = match more {
                Some(Value::Procs(more)) => members(more)?,
                Some(_) => return Err(Status::BAD_PARAM),
                None => Vec::new(),
            };
            GroupRole::Leader { proc: ProcId { job: *job, rank }, leaders: *leaders, more }
        }
        // A leader calls for itself.
        (Some(_), _) => return Err(Status::BAD_PARAM),
        (None, []) => GroupRole::Follower,
        // Without a number of leaders the others would wait for members of which they do not know.
        (None, _) if more.is_some() => return refuse("PMIX_GROUP_ADD_MEMBERS", "say PMIX_GROUP_BOOTSTRAP as well"),
        (None, _) if leaves_out => {
            return refuse(
                "PMIX_GROUP_OPTIONAL and PMIX_GROUP_FT_COLLECTIVE",
                "make the group by PMIX_GROUP_BOOTSTRAP",
            );
        }
        (None, _) => return Ok(Wish::Construct(part)),
    };
    Ok(Wish::Enter(GroupEntry { group: name.to_owned(), role, leaves_out, limit: None, part }))
}

fn refuse(what: &str, instead: &str) -> Result<Wish, Status> {
    tracing::warn!("{what} is not offered for a group whose members know each other; {instead}");
    Err(Status::NOT_SUPPORTED)
}

/// Returns the contribution of the local members to a new group.
fn part(info: &[Info]) -> Result<GroupPart, Status> {
    let data = match find(info, sys::PMIX_GROUP_ENDPT_DATA) {
        Some(Value::Bytes(bytes)) => bytes.clone(),
        Some(_) => return Err(Status::BAD_PARAM),
        None => Bytes::new(),
    };
    Ok(GroupPart { notify: is_set(info, sys::PMIX_GROUP_NOTIFY_TERMINATION), data, infos: shared(info)? })
}

/// Encodes what the local members tell the others of themselves (`PMIX_GROUP_INFO`), as libpmix 7 gives it: an array
/// for each. (libpmix 4 and 5 have it among the data. What processes have put is fetched on demand.)
fn shared(info: &[Info]) -> Result<Bytes, Status> {
    let all: Vec<&Info> = info.iter().filter(|info| info.is(sys::PMIX_GROUP_INFO)).collect();
    if !all.iter().all(|info| info.value.can_travel()) {
        return Err(Status::NOT_SUPPORTED);
    }
    match all[..] {
        [] => Ok(Bytes::new()),
        _ => postcard::to_stdvec(&all).map(Bytes::from).map_err(|_| Status::BAD_PARAM),
    }
}

/// Returns the answer for the library: the members of a new group, its number, and the data of all. A client of
/// libpmix 5 and later fails without the members; libpmix 4 does not read them. `members` are those of the call, which
/// has none if they have not known each other.
pub(super) fn answer(dvm: &str, members: Vec<Proc>, result: CollectiveResult) -> Result<Vec<Info>, Status> {
    let bytes = result.map_err(|status| Status(status.0))?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let built = GroupBuilt::decode(&bytes).ok_or(Status::ERROR)?;
    let members = match built.members.is_empty() {
        true => members,
        false => built.members.iter().map(|proc| Proc::new(proc.job.nspace(dvm), proc.rank.0)).collect(),
    };
    let mut info = vec![
        Info::new(sys::PMIX_GROUP_CONTEXT_ID, Value::Size(built.context)),
        Info::new(sys::PMIX_GROUP_MEMBERSHIP, Value::Procs(members)),
    ];
    if !built.data.is_empty() {
        info.push(Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(built.data)));
    }
    for infos in &built.infos {
        let infos: Vec<Info> = postcard::from_bytes(infos).map_err(|_| Status::ERROR)?;
        info.extend(infos);
    }
    Ok(info)
}

/// The name of the group that the source of this event has left (spec L161).
pub(super) fn left(code: Status, source: &Proc, info: &[Info]) -> Option<String> {
    let affected = find(info, sys::PMIX_EVENT_AFFECTED_PROC);
    let is_own = affected.is_none_or(|value| *value == Value::Proc(source.clone()));
    let group = find(info, sys::PMIX_GROUP_ID).and_then(Value::as_str);
    group.filter(|_| code.0 == sys::PMIX_GROUP_LEFT && is_own).map(str::to_owned)
}

/// True for a directive that is there and not false. Of several local members each may give it.
fn is_set(info: &[Info], key: &CStr) -> bool {
    info.iter().any(|info| info.is(key) && info.value != Value::Bool(false))
}

fn find<'a>(info: &'a [Info], key: &CStr) -> Option<&'a Value> {
    info.iter().find(|info| info.is(key)).map(|info| &info.value)
}

#[cfg(test)]
mod tests {
    use ferrite_types::pmix_status::PMIX_ERR_EXISTS;

    use super::*;

    #[test]
    fn a_contribution_is_the_data_of_the_local_members_and_their_wish_to_be_told() {
        let data = Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(Bytes::from_static(&[1, 2])));
        let part_of =
            |notify, data: &'static [u8]| Ok(GroupPart { notify, data: Bytes::from_static(data), infos: Bytes::new() });
        assert_eq!(part(std::slice::from_ref(&data)), part_of(false, &[1, 2]));
        let notify = Info::new(sys::PMIX_GROUP_NOTIFY_TERMINATION, true);
        assert_eq!(part(&[notify, data]), part_of(true, &[1, 2]));
        assert_eq!(part(&[]), part_of(false, &[]));
    }

    /// Ranks of one job of eight processes.
    fn of_job(procs: &[Proc]) -> Result<ByJob, Status> {
        Ok(vec![(JobId(1), procs.iter().map(|proc| Rank(proc.rank)).collect())])
    }

    /// spec L160, L162
    #[test]
    fn a_leader_calls_for_itself_and_a_follower_names_nobody() {
        let (me, more) = (Proc::new("d@1", 3), Value::Procs(vec![Proc::new("d@1", 5)]));
        let add = Info::new(sys::PMIX_GROUP_ADD_MEMBERS, more);
        let leads = Info::new(sys::PMIX_GROUP_BOOTSTRAP, Value::Size(2));
        let optional = |yes: bool| Info::new(sys::PMIX_GROUP_OPTIONAL, yes);
        let of = |procs: &[Proc], info: &[Info]| wish(true, "g", procs, info, of_job);
        let role = |wish: Result<Wish, Status>| match wish {
            Ok(Wish::Enter(entry)) => Ok((entry.role, entry.leaves_out)),
            Ok(_) => Err(Status::SUCCESS),
            Err(status) => Err(status),
        };
        let leader = |more| GroupRole::Leader { proc: ProcId { job: JobId(1), rank: Rank(3) }, leaders: 2, more };
        let named = vec![(JobId(1), vec![Rank(5)])];
        let me = std::slice::from_ref(&me);
        assert_eq!(role(of(me, &[leads.clone(), add.clone()])), Ok((leader(named), false)));
        assert_eq!(role(of(me, &[leads.clone(), optional(true)])), Ok((leader(Vec::new()), true)));
        assert_eq!(role(of(&[], &[])), Ok((GroupRole::Follower, false)));
        assert_eq!(role(of(&[], std::slice::from_ref(&leads))), Err(Status::BAD_PARAM));
        assert_eq!(role(of(&[me[0].clone(), me[0].clone()], &[leads])), Err(Status::BAD_PARAM));
        assert_eq!(role(of(me, &[add])), Err(Status::NOT_SUPPORTED));
        assert_eq!(role(of(me, &[optional(true)])), Err(Status::NOT_SUPPORTED));
        assert_eq!(role(of(me, &[optional(false)])), Err(Status::SUCCESS), "a group like others");
        assert_eq!(wish(false, "g", me, &[], of_job), Ok(Wish::Destruct));
    }

    /// libpmix 7 says it by an event (spec L161).
    #[test]
    fn a_process_leaves_a_group_for_itself_only() {
        let me = Proc::new("d@1", 3);
        let of = |affected: &Proc| {
            let group = Info::new(sys::PMIX_GROUP_ID, Value::String("g".to_owned()));
            left(
                Status(sys::PMIX_GROUP_LEFT),
                &me,
                &[Info::new(sys::PMIX_EVENT_AFFECTED_PROC, affected.clone()), group],
            )
        };
        assert_eq!(of(&me), Some("g".to_owned()));
        assert_eq!(of(&Proc::new("d@1", 2)), None);
        assert_eq!(left(Status(sys::PMIX_GROUP_LEFT), &me, &[]), None);
    }

    #[test]
    fn an_answer_has_the_members_the_number_and_the_data_or_the_status() {
        let built = GroupBuilt { context: 7, members: Vec::new(), data: Bytes::from_static(b"all"), infos: Vec::new() };
        let context = Info::new(sys::PMIX_GROUP_CONTEXT_ID, Value::Size(7));
        let members = vec![Proc::new("d@1", 0), Proc::new("d@1", 1)];
        let named = Info::new(sys::PMIX_GROUP_MEMBERSHIP, Value::Procs(members.clone()));
        let all = Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(Bytes::from_static(b"all")));
        assert_eq!(answer("d", members, Ok(built.encode())), Ok(vec![context, named, all]));
        let bootstrapped = GroupBuilt { members: vec![ProcId { job: JobId(2), rank: Rank(4) }], ..built };
        let found = answer("d", Vec::new(), Ok(bootstrapped.encode())).unwrap();
        assert_eq!(found[1].value, Value::Procs(vec![Proc::new("d@2", 4)]), "they have not known each other");
        assert_eq!(answer("d", Vec::new(), Ok(Bytes::new())), Ok(Vec::new()), "the end of a group");
        assert_eq!(answer("d", Vec::new(), Ok(Bytes::from_static(&[1]))), Err(Status::ERROR), "of another build");
        assert_eq!(answer("d", Vec::new(), Err(PMIX_ERR_EXISTS)), Err(Status(-11)));
    }

    /// What each member tells of itself comes to all of them (spec L63).
    #[test]
    fn what_members_tell_of_themselves_comes_out_as_it_went_in() {
        let of = |rank: u32| {
            let told = vec![Info::new(sys::PMIX_PROCID, Proc::new("d@1", rank)), Info::new(c"own", 200 + rank)];
            Info::new(sys::PMIX_GROUP_INFO, Value::Infos(told))
        };
        let told = |info: &[Info]| part(info).unwrap().infos;
        let infos = vec![told(&[of(0), Info::new(sys::PMIX_GROUP_LEADER, true), of(1)]), told(&[of(2)])];
        let built = GroupBuilt { context: 7, members: Vec::new(), data: Bytes::new(), infos }.encode();
        let all = answer("d", Vec::new(), Ok(built)).unwrap();
        assert_eq!(all[2..], [of(0), of(1), of(2)]);
        let unknown = Info::new(sys::PMIX_GROUP_INFO, Value::Infos(vec![Info::new(c"own", Value::Other(99))]));
        assert_eq!(part(&[unknown]), Err(Status::NOT_SUPPORTED));
    }
}
