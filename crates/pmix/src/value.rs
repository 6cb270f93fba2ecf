//! Keys and values as PMIx exchanges them, owned. Decoding copies everything that the library owns, so
//! that nothing here points into its memory.

use std::ffi::CStr;

use bytes::Bytes;
use ferrite_pmix_sys as sys;
use serde::{Deserialize, Serialize};

use crate::module::argv;
use crate::{App, Status};

/// The deepest nesting of arrays that is decoded. Clients choose the depth; the stack is ours.
const MAX_DEPTH: usize = 8;

/// A process in a namespace, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Proc {
    /// The namespace; at most 255 bytes.
    pub nspace: String,
    /// The rank, or [`Proc::WILDCARD`].
    pub rank: u32,
}

impl Proc {
    /// The rank that stands for every process of the namespace.
    pub const WILDCARD: u32 = sys::PMIX_RANK_WILDCARD;

    /// Names a process.
    pub fn new(nspace: impl Into<String>, rank: u32) -> Self {
        Self { nspace: nspace.into(), rank }
    }

    /// `None` when the namespace is too long for the library or contains a NUL.
    pub(crate) fn to_raw(&self) -> Option<sys::pmix_proc_t> {
        let bytes = self.nspace.as_bytes();
        if bytes.len() > sys::PMIX_MAX_NSLEN as usize || bytes.contains(&0) {
            return None;
        }
        let mut raw = sys::pmix_proc_t { nspace: [0; 256], rank: self.rank };
        for (to, from) in raw.nspace.iter_mut().zip(bytes) {
            *to = *from as std::os::raw::c_char;
        }
        Some(raw)
    }

    /// # Safety
    /// `raw` is null or points to a process name.
    pub(crate) unsafe fn from_raw(raw: *const sys::pmix_proc_t) -> Option<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { raw.as_ref() }?;
        Some(Self { nspace: bounded_text(&raw.nspace), rank: raw.rank })
    }

    /// # Safety
    /// `raw` is null or points to `count` process names.
    pub(crate) unsafe fn from_array(raw: *const sys::pmix_proc_t, count: usize) -> Vec<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { slice(raw, count) };
        raw.iter().map(|p| Self { nspace: bounded_text(&p.nspace), rank: p.rank }).collect()
    }
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// A key of the PMIx standard (`pmix.job.size`) or a private one; at most 511 bytes.
    pub key: String,
    /// The value.
    pub value: Value,
}

impl Info {
    /// Pairs a key of the bindings with a value.
    pub fn new(key: &CStr, value: impl Into<Value>) -> Self {
        Self { key: key.to_string_lossy().into_owned(), value: value.into() }
    }

    /// True for that key.
    pub fn is(&self, key: &CStr) -> bool {
        self.key.as_bytes() == key.to_bytes()
    }

    /// # Safety
    /// `raw` is null or points to `count` infos that the library filled.
    pub(crate) unsafe fn from_array(raw: *const sys::pmix_info_t, count: usize) -> Vec<Self> {
        // SAFETY: the caller's promise.
        unsafe { infos_at_depth(raw, count, 0) }
    }

    /// Returns the keys that the sender of the infos insists on.
    ///
    /// # Safety
    /// As [`Info::from_array`].
    pub(crate) unsafe fn required_keys(raw: *const sys::pmix_info_t, count: usize) -> Vec<String> {
        // SAFETY: the caller's promise.
        let raw = unsafe { slice(raw, count) };
        raw.iter().filter(|info| info.flags & sys::PMIX_INFO_REQD != 0).map(|info| bounded_text(&info.key)).collect()
    }
}

/// A process as queries describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcInfo {
    /// Its name.
    pub proc: Proc,
    /// The host that it runs on.
    pub hostname: String,
    /// Its program.
    pub executable: String,
    /// Its process id there; 0 = it does not run yet.
    pub pid: i32,
    /// Its exit code; 0 while it runs.
    pub exit_code: i32,
    /// Its state: a `PMIX_PROC_STATE_*` number.
    pub state: u8,
}

/// A value. Types that no part of Ferrite reads yet come as [`Value::Other`]. It can be serialized, to travel between
/// processes of one build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are PMIx's")]
pub enum Value {
    Bool(bool),
    Byte(u8),
    String(String),
    Size(u64),
    Pid(i32),
    Int(i32),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    Uint(u32),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    Float(f32),
    Double(f64),
    Status(Status),
    Proc(Proc),
    Rank(u32),
    Range(u8),
    Persistence(u8),
    Bytes(Bytes),
    /// A list of names or ranks in the library's own compressed form.
    Regex(Vec<u8>),
    /// An array of infos.
    Infos(#[serde(deserialize_with = "crate::protocol::nested::deserialize")] Vec<Info>),
    /// An array of programs to start.
    Apps(#[serde(deserialize_with = "crate::protocol::nested::deserialize")] Vec<App>),
    /// An array of process names.
    Procs(Vec<Proc>),
    /// An array of numbers, such as user ids.
    U32s(Vec<u32>),
    /// An array of texts.
    Strings(Vec<String>),
    /// An array of descriptions of processes. The server only sends such values.
    ProcInfos(Vec<ProcInfo>),
    /// A change to an environment: name, value, and the separator where there is one.
    Envar(String, String, char),
    /// A number of a type that nobody here reads, such as a state or a time: the type's number in the PMIx standard,
    /// and the number; a time of day has its microseconds beside it.
    Plain(u16, u64, u64),
    /// A type that is not decoded: its number in the PMIx standard.
    Other(u16),
}

impl Value {
    /// # Safety
    /// As [`decode`].
    pub(crate) unsafe fn from_raw(raw: *const sys::pmix_value_t) -> Value {
        // SAFETY: the caller's promise.
        unsafe { decode(&*raw, 0) }
    }

    /// Any integer type as a number, where it fits.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match *self {
            Self::Byte(n) | Self::U8(n) => n.into(),
            Self::Size(n) | Self::U64(n) => n.try_into().ok()?,
            Self::Pid(n) | Self::Int(n) | Self::I32(n) => n.into(),
            Self::I8(n) => n.into(),
            Self::I16(n) => n.into(),
            Self::I64(n) => n,
            Self::Uint(n) | Self::U32(n) | Self::Rank(n) => n.into(),
            Self::U16(n) => n.into(),
            _ => return None,
        })
    }

    /// False for a value that was not decoded, or that has one inside: it cannot be passed on.
    pub fn can_travel(&self) -> bool {
        match self {
            Self::Apps(_) | Self::Other(_) => false,
            Self::Infos(infos) => infos.iter().all(|info| info.value.can_travel()),
            _ => true,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

from!(bool => Bool, String => String, u16 => U16, u32 => U32, u64 => U64, Status => Status, Proc => Proc, Vec<Info> => Infos);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

/// True when the list contains the key with true: a key without value counts as `true`, as in the standard.
pub(crate) fn flag(infos: &[Info], key: &CStr) -> bool {
    infos.iter().any(|info| info.is(key) && !matches!(info.value, Value::Bool(false)))
}

/// `PMIX_TIMEOUT` in seconds; zero means none.
pub(crate) fn timeout_s(infos: &[Info]) -> Option<u32> {
    let info = infos.iter().find(|info| info.is(sys::PMIX_TIMEOUT))?;
    u32::try_from(info.value.as_i64()?).ok().filter(|&seconds| seconds > 0)
}

/// # Safety
/// `raw` is null or points to `count` elements that live for `'a`.
pub(crate) unsafe fn slice<'a, T>(raw: *const T, count: usize) -> &'a [T] {
    if raw.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise; null was handled.
    unsafe { std::slice::from_raw_parts(raw, count) }
}

/// # Safety
/// `raw` is null or a C string.
pub(crate) unsafe fn text(raw: *const std::os::raw::c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise; null was handled.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
}

/// Reads a fixed array up to its NUL, or to its end when a client sent none.
pub(crate) fn bounded_text(raw: &[std::os::raw::c_char]) -> String {
    let bytes: Vec<u8> = raw.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

unsafe fn infos_at_depth(raw: *const sys::pmix_info_t, count: usize, depth: usize) -> Vec<Info> {
    // SAFETY: the caller's promise.
    let raw = unsafe { slice(raw, count) };
    raw.iter()
        .map(|info| Info {
            key: bounded_text(&info.key),
            // SAFETY: the library filled the value, so that its type names the union's live member.
            value: unsafe { decode(&info.value, depth) },
        })
        .collect()
}

/// # Safety
/// `raw` is null or points to `count` apps with pointers that are null, or valid as the library makes them.
pub(crate) unsafe fn apps(raw: *const sys::pmix_app_t, count: usize) -> Vec<App> {
    // SAFETY: the caller's promise.
    unsafe { apps_at_depth(raw, count, 0) }
}

unsafe fn apps_at_depth(raw: *const sys::pmix_app_t, count: usize, depth: usize) -> Vec<App> {
    // SAFETY: the caller's promise.
    let raw = unsafe { slice(raw, count) };
    let app = |app: &sys::pmix_app_t| {
        // SAFETY: the caller's promise.
        unsafe {
            let mut words = argv(app.argv);
            let cmd = if app.cmd.is_null() { String::new() } else { text(app.cmd) };
            let arg0 = match words.first_mut() {
                _ if cmd.is_empty() => None,
                Some(first) if *first == cmd => None,
                Some(first) => Some(std::mem::replace(first, cmd)),
                None => {
                    words.push(cmd);
                    None
                }
            };
            App {
                argv: words,
                arg0,
                env: argv(app.env),
                cwd: (!app.cwd.is_null()).then(|| text(app.cwd)),
                maxprocs: u32::try_from(app.maxprocs).unwrap_or(0),
                info: infos_at_depth(app.info, app.ninfo, depth),
                required: Info::required_keys(app.info, app.ninfo),
            }
        }
    };
    raw.iter().map(app).collect()
}

/// # Safety
/// The type of `raw` names the live member of its union, and pointers in it are valid or null.
unsafe fn decode(raw: &sys::pmix_value_t, depth: usize) -> Value {
    let data = &raw.data;
    // SAFETY: each arm reads the member that the type names.
    unsafe {
        match u32::from(raw.type_) {
            sys::PMIX_BOOL => Value::Bool(data.byte != 0),
            sys::PMIX_BYTE => Value::Byte(data.byte),
            sys::PMIX_STRING => Value::String(text(data.string)),
            sys::PMIX_SIZE => Value::Size(data.size as u64),
            sys::PMIX_PID => Value::Pid(data.pid),
            sys::PMIX_INT => Value::Int(data.integer),
            sys::PMIX_INT8 => Value::I8(data.int8),
            sys::PMIX_INT16 => Value::I16(data.int16),
            sys::PMIX_INT32 => Value::I32(data.int32),
            sys::PMIX_INT64 => Value::I64(data.int64),
            sys::PMIX_UINT => Value::Uint(data.uint),
            sys::PMIX_UINT8 | sys::PMIX_ALLOC_INHERIT => Value::U8(data.uint8),
            sys::PMIX_UINT16 => Value::U16(data.uint16),
            sys::PMIX_UINT32 => Value::U32(data.uint32),
            sys::PMIX_UINT64 => Value::U64(data.uint64),
            sys::PMIX_FLOAT => Value::Float(data.fval),
            sys::PMIX_DOUBLE => Value::Double(data.dval),
            sys::PMIX_STATUS => Value::Status(Status(data.status)),
            sys::PMIX_PROC_RANK => Value::Rank(data.rank),
            sys::PMIX_DATA_RANGE => Value::Range(data.range),
            sys::PMIX_PERSIST => Value::Persistence(data.persist),
            sys::PMIX_PROC => Proc::from_raw(data.proc_).map_or(Value::Other(raw.type_), Value::Proc),
            sys::PMIX_BYTE_OBJECT => Value::Bytes(Bytes::copy_from_slice(slice(data.bo.bytes.cast(), data.bo.size))),
            sys::PMIX_REGEX => Value::Regex(slice(data.bo.bytes.cast(), data.bo.size).to_vec()),
            sys::PMIX_ENVAR => {
                let separator = char::from(data.envar.separator as u8);
                Value::Envar(text(data.envar.envar), text(data.envar.value), separator)
            }
            sys::PMIX_DATA_ARRAY => decode_array(data.darray, depth + 1),
            sys::PMIX_TIMEVAL => Value::Plain(raw.type_, data.tv.tv_sec as u64, data.tv.tv_usec as u64),
            _ => match plain_size(raw.type_) {
                Some(1) => Value::Plain(raw.type_, data.uint8.into(), 0),
                Some(2) => Value::Plain(raw.type_, data.uint16.into(), 0),
                Some(4) => Value::Plain(raw.type_, data.uint32.into(), 0),
                Some(_) => Value::Plain(raw.type_, data.uint64, 0),
                None => Value::Other(raw.type_),
            },
        }
    }
}

/// Returns the size of a number of this type (bytes), where no other arm reads it.
pub(crate) fn plain_size(type_: u16) -> Option<usize> {
    match u32::from(type_) {
        sys::PMIX_SCOPE | sys::PMIX_COMMAND | sys::PMIX_PROC_STATE | sys::PMIX_ALLOC_DIRECTIVE => Some(1),
        sys::PMIX_JOB_STATE | sys::PMIX_LINK_STATE => Some(1),
        sys::PMIX_DATA_TYPE | sys::PMIX_IOF_CHANNEL | sys::PMIX_LOCTYPE | sys::PMIX_STOR_ACCESS_TYPE => Some(2),
        sys::PMIX_INFO_DIRECTIVES => Some(4),
        sys::PMIX_TIME | sys::PMIX_DEVTYPE => Some(8),
        sys::PMIX_STOR_MEDIUM | sys::PMIX_STOR_ACCESS | sys::PMIX_STOR_PERSIST => Some(8),
        _ => None,
    }
}

unsafe fn decode_array(raw: *const sys::pmix_data_array_t, depth: usize) -> Value {
    let other = Value::Other(sys::PMIX_DATA_ARRAY as u16);
    // SAFETY: the caller's promise.
    let Some(array) = (unsafe { raw.as_ref() }) else {
        return other;
    };
    if depth > MAX_DEPTH {
        return other;
    }
    // SAFETY: the type of the array names the type of its elements.
    unsafe {
        match u32::from(array.type_) {
            sys::PMIX_INFO => Value::Infos(infos_at_depth(array.array.cast(), array.size, depth)),
            sys::PMIX_APP => Value::Apps(apps_at_depth(array.array.cast(), array.size, depth)),
            sys::PMIX_PROC => Value::Procs(Proc::from_array(array.array.cast(), array.size)),
            sys::PMIX_UINT32 | sys::PMIX_PROC_RANK => Value::U32s(slice(array.array.cast(), array.size).to_vec()),
            sys::PMIX_STRING => {
                let texts: &[*const std::os::raw::c_char] = slice(array.array.cast(), array.size);
                Value::Strings(texts.iter().map(|each| text(*each)).collect())
            }
            _ => other,
        }
    }
}
