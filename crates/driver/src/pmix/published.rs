//! Translates `PMIx_Publish` and its relatives for the data server, and back. Pure. A value travels as bytes that only
//! this file decodes.

use std::ffi::CStr;

use bytes::Bytes;
use ferrite_pmix::{Info, Proc, Published, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::ProcId;
use ferrite_wire::{Access, DataCall, DataRange, DataRequest, Found, Persistence};

use super::calls::limit_of;

/// Keys that direct a publication or a lookup, and are no data.
const DIRECTIVES: [&CStr; 9] = [
    sys::PMIX_RANGE,
    sys::PMIX_PERSISTENCE,
    sys::PMIX_ACCESS_PERMISSIONS,
    sys::PMIX_ACCESS_USERIDS,
    sys::PMIX_ACCESS_GRPIDS,
    sys::PMIX_USERID,
    sys::PMIX_GRPID,
    sys::PMIX_WAIT,
    sys::PMIX_TIMEOUT,
];

/// Translates a publication.
pub(super) fn publish(proc: ProcId, info: &[Info]) -> Result<DataCall, Status> {
    let data = info.iter().filter(|info| !DIRECTIVES.iter().any(|key| info.is(key)));
    let items = data.map(|info| Ok((info.key.clone(), pack(&info.value)?))).collect::<Result<_, Status>>()?;
    let range = range(info)?.unwrap_or(DataRange::Dvm);
    let request = DataRequest::Publish { items, range, persistence: persistence(info)?, access: access(info)? };
    Ok(call(proc, info, request))
}

/// Translates a lookup.
pub(super) fn lookup(proc: ProcId, keys: Vec<String>, info: &[Info]) -> Result<DataCall, Status> {
    let all = u32::try_from(keys.len()).map_err(|_| Status::BAD_PARAM)?;
    let wait = match find(info, sys::PMIX_WAIT) {
        None | Some(Value::Bool(false)) => 0,
        // The value is a number of results, or undefined, which means all.
        Some(value) => {
            value.as_i64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..all).contains(n)).unwrap_or(all)
        }
    };
    let seconds = find(info, sys::PMIX_TIMEOUT).and_then(Value::as_i64).and_then(|s| u32::try_from(s).ok());
    let timeout = seconds.filter(|s| *s > 0).map(limit_of);
    let range = range(info)?.unwrap_or(DataRange::Dvm);
    Ok(call(proc, info, DataRequest::Lookup { keys, range, wait, timeout }))
}

/// Translates an unpublication.
pub(super) fn unpublish(proc: ProcId, keys: Vec<String>, info: &[Info]) -> Result<DataCall, Status> {
    Ok(call(proc, info, DataRequest::Unpublish { keys, range: range(info)? }))
}

/// Translates the found data for the library.
pub(super) fn found(found: Vec<Found>, nspace: impl Fn(ProcId) -> String) -> Vec<Published> {
    let unpack = |one: Found| {
        let value = postcard::from_bytes(&one.value).ok()?;
        Some(Published { proc: Proc::new(nspace(one.proc), one.proc.rank.0), key: one.key, value })
    };
    found.into_iter().filter_map(unpack).collect()
}

fn call(proc: ProcId, info: &[Info], request: DataRequest) -> DataCall {
    let id = |key: &CStr| find(info, key).and_then(Value::as_i64).and_then(|id| u32::try_from(id).ok());
    // The library adds the user of the process; without it only our own user may access the data.
    let uid = id(sys::PMIX_USERID).unwrap_or_else(|| rustix::process::geteuid().as_raw());
    let gid = id(sys::PMIX_GRPID).unwrap_or_else(|| rustix::process::getegid().as_raw());
    DataCall { proc, uid, gid, request }
}

fn find<'a>(info: &'a [Info], key: &CStr) -> Option<&'a Value> {
    info.iter().find(|info| info.is(key)).map(|info| &info.value)
}

fn pack(value: &Value) -> Result<Bytes, Status> {
    match value {
        // The value was not decoded, so it could not be returned.
        Value::Other(_) | Value::Apps(_) => Err(Status::NOT_SUPPORTED),
        value => postcard::to_stdvec(value).map(Bytes::from).map_err(|_| Status::BAD_PARAM),
    }
}

fn range(info: &[Info]) -> Result<Option<DataRange>, Status> {
    let number = match find(info, sys::PMIX_RANGE) {
        None => return Ok(None),
        Some(Value::Range(number)) => u32::from(*number),
        Some(_) => return Err(Status::BAD_PARAM),
    };
    match number {
        sys::PMIX_RANGE_UNDEF | sys::PMIX_RANGE_SESSION | sys::PMIX_RANGE_GLOBAL => Ok(Some(DataRange::Dvm)),
        sys::PMIX_RANGE_RM => Ok(Some(DataRange::Rm)),
        sys::PMIX_RANGE_LOCAL => Ok(Some(DataRange::Local)),
        sys::PMIX_RANGE_NAMESPACE => Ok(Some(DataRange::Namespace)),
        sys::PMIX_RANGE_PROC_LOCAL => Ok(Some(DataRange::ProcLocal)),
        sys::PMIX_RANGE_CUSTOM => Err(Status::NOT_SUPPORTED),
        _ => Err(Status::BAD_PARAM),
    }
}

/// The standard's default is the publisher's application.
fn persistence(info: &[Info]) -> Result<Persistence, Status> {
    let number = match find(info, sys::PMIX_PERSISTENCE) {
        None => return Ok(Persistence::App),
        Some(Value::Persistence(number)) => u32::from(*number),
        Some(_) => return Err(Status::BAD_PARAM),
    };
    match number {
        sys::PMIX_PERSIST_INDEF | sys::PMIX_PERSIST_SESSION => Ok(Persistence::Session),
        sys::PMIX_PERSIST_FIRST_READ => Ok(Persistence::FirstRead),
        sys::PMIX_PERSIST_PROC => Ok(Persistence::Proc),
        sys::PMIX_PERSIST_APP => Ok(Persistence::App),
        _ => Err(Status::BAD_PARAM),
    }
}

/// An access restriction that cannot be understood is an error: ignoring it would open the data.
fn access(info: &[Info]) -> Result<Access, Status> {
    let list = |key: &CStr| match find(info, key) {
        None => Ok(None),
        Some(Value::U32s(ids)) => Ok(Some(ids.clone())),
        Some(_) => Err(Status::BAD_PARAM),
    };
    match find(info, sys::PMIX_ACCESS_PERMISSIONS) {
        None => Ok(Access { uids: list(sys::PMIX_ACCESS_USERIDS)?, gids: list(sys::PMIX_ACCESS_GRPIDS)? }),
        Some(Value::Infos(inner)) => access(inner),
        Some(_) => Err(Status::BAD_PARAM),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{Duration, JobId, Rank};

    use super::*;

    const ME: ProcId = ProcId { job: JobId(1), rank: Rank(2) };

    fn info(key: &CStr, value: impl Into<Value>) -> Info {
        Info::new(key, value)
    }

    #[test]
    fn what_is_published_comes_back_from_its_bytes() {
        let data =
            [info(c"port", "tcp://1"), info(c"blob", Value::Bytes(Bytes::from_static(&[0, 1]))), info(c"n", 7u32)];
        let DataRequest::Publish { items, range, persistence, .. } = publish(ME, &data).unwrap().request else {
            panic!("a publication")
        };
        assert_eq!((range, persistence), (DataRange::Dvm, Persistence::App));
        let stored = items.into_iter().map(|(key, value)| Found { proc: ME, key, value }).collect();
        let back = found(stored, |proc| proc.job.nspace("d"));
        let expected = data.map(|info| Published { proc: Proc::new("d@1", 2), key: info.key, value: info.value });
        assert_eq!(back, expected);
    }

    #[test]
    fn directives_are_no_data() {
        let directives = [
            info(sys::PMIX_RANGE, Value::Range(3)),
            info(sys::PMIX_PERSISTENCE, Value::Persistence(1)),
            info(sys::PMIX_USERID, 7u32),
            info(sys::PMIX_GRPID, 8u32),
            info(sys::PMIX_ACCESS_USERIDS, Value::U32s(vec![7, 9])),
            info(c"key", true),
        ];
        let call = publish(ME, &directives).unwrap();
        assert_eq!((call.uid, call.gid), (7, 8));
        let DataRequest::Publish { items, range, persistence, access } = call.request else { panic!("a publication") };
        assert_eq!(items.len(), 1);
        assert_eq!((range, persistence), (DataRange::Namespace, Persistence::FirstRead));
        assert_eq!(access, Access { uids: Some(vec![7, 9]), gids: None });
    }

    #[test]
    fn a_restriction_that_is_not_understood_fails_the_publication() {
        for bad in [info(sys::PMIX_ACCESS_USERIDS, "me"), info(sys::PMIX_RANGE, "all"), info(c"k", Value::Other(99))] {
            assert!(publish(ME, &[bad]).is_err());
        }
    }

    #[test]
    fn a_lookup_waits_for_as_many_keys_as_it_says() {
        let wait = |info: &[Info]| match lookup(ME, vec!["a".to_owned(), "b".to_owned()], info).unwrap().request {
            DataRequest::Lookup { wait, timeout, .. } => (wait, timeout),
            other => panic!("no lookup: {other:?}"),
        };
        assert_eq!(wait(&[]), (0, None));
        assert_eq!(wait(&[info(sys::PMIX_WAIT, Value::Int(0))]), (2, None));
        assert_eq!(wait(&[info(sys::PMIX_WAIT, Value::Int(1))]), (1, None));
        let limited = [info(sys::PMIX_WAIT, true), info(sys::PMIX_TIMEOUT, Value::Int(3))];
        assert_eq!(wait(&limited), (2, Some(Duration::from_millis(2_900))));
    }
}
