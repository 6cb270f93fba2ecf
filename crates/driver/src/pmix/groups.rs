//! Translates calls for PMIx groups for the machine, and the answers back. Pure; only [`super::calls`] uses it.

use std::ffi::CStr;

use bytes::Bytes;
use ferrite_pmix::{Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_wire::{CollectiveResult, GroupBuilt, GroupPart};

/// Returns the contribution of the local members to a new group, or `None` for the end of one.
///
/// # Errors
/// A directive that would make another group of it and is not offered.
pub(super) fn part(makes: bool, info: &[Info]) -> Result<Option<GroupPart>, Status> {
    if !makes {
        return Ok(None);
    }
    // A group of those who have called already would be another one than they mean.
    if [sys::PMIX_GROUP_ADD_MEMBERS, sys::PMIX_GROUP_BOOTSTRAP].iter().any(|key| find(info, key).is_some()) {
        return Err(Status::NOT_SUPPORTED);
    }
    let data = match find(info, sys::PMIX_GROUP_ENDPT_DATA) {
        Some(Value::Bytes(bytes)) => Bytes::copy_from_slice(bytes),
        Some(_) => return Err(Status::BAD_PARAM),
        None => Bytes::new(),
    };
    let notify = find(info, sys::PMIX_GROUP_NOTIFY_TERMINATION);
    let notify = notify.is_some_and(|value| *value != Value::Bool(false));
    Ok(Some(GroupPart { notify, data, infos: shared(info)? }))
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
/// libpmix 5 and later fails without the members; libpmix 4 does not read them.
pub(super) fn answer(members: Vec<Proc>, result: CollectiveResult) -> Result<Vec<Info>, Status> {
    let bytes = result.map_err(|status| Status(status.0))?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let built = GroupBuilt::decode(&bytes).ok_or(Status::ERROR)?;
    let mut info = vec![
        Info::new(sys::PMIX_GROUP_CONTEXT_ID, Value::Size(built.context)),
        Info::new(sys::PMIX_GROUP_MEMBERSHIP, Value::Procs(members)),
    ];
    if !built.data.is_empty() {
        info.push(Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(built.data.to_vec())));
    }
    for infos in &built.infos {
        let infos: Vec<Info> = postcard::from_bytes(infos).map_err(|_| Status::ERROR)?;
        info.extend(infos);
    }
    Ok(info)
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
        let data = Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(vec![1, 2]));
        let of = |info: &[Info]| part(true, info);
        let part_of = |notify, data: &'static [u8]| {
            Ok(Some(GroupPart { notify, data: Bytes::from_static(data), infos: Bytes::new() }))
        };
        assert_eq!(of(std::slice::from_ref(&data)), part_of(false, &[1, 2]));
        let notify = Info::new(sys::PMIX_GROUP_NOTIFY_TERMINATION, true);
        assert_eq!(of(&[notify, data]), part_of(true, &[1, 2]));
        assert_eq!(of(&[]), part_of(false, &[]));
        for key in [sys::PMIX_GROUP_ADD_MEMBERS, sys::PMIX_GROUP_BOOTSTRAP] {
            assert_eq!(of(&[Info::new(key, true)]), Err(Status::NOT_SUPPORTED), "{key:?}");
        }
        assert_eq!(part(false, &[]), Ok(None));
    }

    #[test]
    fn an_answer_has_the_members_the_number_and_the_data_or_the_status() {
        let built = GroupBuilt { context: 7, data: Bytes::from_static(b"all"), infos: Vec::new() };
        let context = Info::new(sys::PMIX_GROUP_CONTEXT_ID, Value::Size(7));
        let members = vec![Proc::new("d@1", 0), Proc::new("d@1", 1)];
        let named = Info::new(sys::PMIX_GROUP_MEMBERSHIP, Value::Procs(members.clone()));
        let all = Info::new(sys::PMIX_GROUP_ENDPT_DATA, Value::Bytes(b"all".to_vec()));
        assert_eq!(answer(members, Ok(built.encode())), Ok(vec![context, named, all]));
        assert_eq!(answer(Vec::new(), Ok(Bytes::new())), Ok(Vec::new()), "the end of a group");
        assert_eq!(answer(Vec::new(), Ok(Bytes::from_static(&[1]))), Err(Status::ERROR), "of another build");
        assert_eq!(answer(Vec::new(), Err(PMIX_ERR_EXISTS)), Err(Status(-11)));
    }

    /// What each member tells of itself comes to all of them (spec L63).
    #[test]
    fn what_members_tell_of_themselves_comes_out_as_it_went_in() {
        let of = |rank: u32| {
            let told = vec![Info::new(sys::PMIX_PROCID, Proc::new("d@1", rank)), Info::new(c"own", 200 + rank)];
            Info::new(sys::PMIX_GROUP_INFO, Value::Infos(told))
        };
        let told = |info: &[Info]| part(true, info).unwrap().unwrap().infos;
        let infos = vec![told(&[of(0), Info::new(sys::PMIX_GROUP_LEADER, true), of(1)]), told(&[of(2)])];
        let built = GroupBuilt { context: 7, data: Bytes::new(), infos }.encode();
        let all = answer(Vec::new(), Ok(built)).unwrap();
        assert_eq!(all[2..], [of(0), of(1), of(2)]);
        let unknown = Info::new(sys::PMIX_GROUP_INFO, Value::Infos(vec![Info::new(c"own", Value::Other(99))]));
        assert_eq!(part(true, &[unknown]), Err(Status::NOT_SUPPORTED));
    }
}
