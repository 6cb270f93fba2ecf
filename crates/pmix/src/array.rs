//! Arrays of infos in the library's own layout, for arguments and answers. All memory is ours and lives
//! as long as the [`InfoArray`]; the library copies what it keeps.

use std::ffi::CString;

use ferrite_pmix_sys as sys;

use crate::value::plain_size;
use crate::{Info, Proc, ProcInfo, Published, Value};

/// Owns the infos and everything they point to.
pub(crate) struct InfoArray {
    infos: Box<[sys::pmix_info_t]>,
}

// SAFETY: every pointer inside is to memory that this value alone owns.
unsafe impl Send for InfoArray {}

impl InfoArray {
    /// Text with NUL bytes is cut there; keys and names that are too long are cut at their limit. Both can come from
    /// users, and neither justifies a failed launch.
    pub(crate) fn new(infos: &[Info]) -> Self {
        Self { infos: infos.iter().map(encode_info).collect() }
    }

    /// Null when empty, as the library expects.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut sys::pmix_info_t {
        if self.infos.is_empty() { std::ptr::null_mut() } else { self.infos.as_mut_ptr() }
    }

    pub(crate) fn len(&self) -> usize {
        self.infos.len()
    }

    /// Gives up ownership; returns pointer and length.
    fn into_raw(mut self) -> (*mut sys::pmix_info_t, usize) {
        let infos = std::mem::take(&mut self.infos);
        let len = infos.len();
        (Box::into_raw(infos).cast(), len)
    }
}

impl Drop for InfoArray {
    fn drop(&mut self) {
        for info in &mut self.infos {
            // SAFETY: `encode` made the value and nobody else frees it.
            unsafe { free_value(&mut info.value) };
        }
    }
}

/// Owns published values in the library's layout, and everything they point to.
pub(crate) struct PdataArray {
    data: Box<[sys::pmix_pdata_t]>,
}

impl PdataArray {
    /// Makes the array. Overlong texts are cut, as in [`InfoArray::new`].
    pub(crate) fn new(found: &[Published]) -> Self {
        let encode = |one: &Published| sys::pmix_pdata_t {
            proc_: c_proc(&one.proc),
            key: encode_key(&one.key),
            value: encode(&one.value),
        };
        Self { data: found.iter().map(encode).collect() }
    }

    /// Null when empty, as the library expects.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut sys::pmix_pdata_t {
        if self.data.is_empty() { std::ptr::null_mut() } else { self.data.as_mut_ptr() }
    }

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }
}

impl Drop for PdataArray {
    fn drop(&mut self) {
        for one in &mut self.data {
            // SAFETY: `encode` made the value and nobody else frees it.
            unsafe { free_value(&mut one.value) };
        }
    }
}

fn encode_info(info: &Info) -> sys::pmix_info_t {
    sys::pmix_info_t { key: encode_key(&info.key), flags: 0, value: encode(&info.value) }
}

fn encode_key(key: &str) -> sys::pmix_key_t {
    let mut raw: sys::pmix_key_t = [0; 512];
    let bytes = key.bytes().take_while(|&c| c != 0).take(sys::PMIX_MAX_KEYLEN as usize);
    for (to, from) in raw.iter_mut().zip(bytes) {
        *to = from as std::os::raw::c_char;
    }
    raw
}

fn c_text(text: &str) -> *mut std::os::raw::c_char {
    let bytes: Vec<u8> = text.bytes().take_while(|&c| c != 0).collect();
    CString::new(bytes).map_or(std::ptr::null_mut(), CString::into_raw)
}

fn c_proc(proc: &Proc) -> sys::pmix_proc_t {
    let cut = |nspace: &str| nspace.chars().filter(|&c| c != '\0').take(63).collect::<String>();
    proc.to_raw().unwrap_or_else(|| {
        // 63 characters are at most 252 bytes: the cut name always fits.
        Proc::new(cut(&proc.nspace), proc.rank).to_raw().expect("a short name without NUL fits")
    })
}

/// Every pointer in the result comes from `into_raw` of a `CString` or `Box`, or is null.
fn encode(value: &Value) -> sys::pmix_value_t {
    type Data = sys::pmix_value__bindgen_ty_1;
    let (type_, data) = match value {
        Value::Bool(flag) => (sys::PMIX_BOOL, Data { flag: *flag }),
        Value::Byte(byte) => (sys::PMIX_BYTE, Data { byte: *byte }),
        Value::String(text) => (sys::PMIX_STRING, Data { string: c_text(text) }),
        Value::Size(size) => (sys::PMIX_SIZE, Data { size: *size as usize }),
        Value::Pid(pid) => (sys::PMIX_PID, Data { pid: *pid }),
        Value::Int(integer) => (sys::PMIX_INT, Data { integer: *integer }),
        Value::I8(int8) => (sys::PMIX_INT8, Data { int8: *int8 }),
        Value::I16(int16) => (sys::PMIX_INT16, Data { int16: *int16 }),
        Value::I32(int32) => (sys::PMIX_INT32, Data { int32: *int32 }),
        Value::I64(int64) => (sys::PMIX_INT64, Data { int64: *int64 }),
        Value::Uint(uint) => (sys::PMIX_UINT, Data { uint: *uint }),
        Value::U8(uint8) => (sys::PMIX_UINT8, Data { uint8: *uint8 }),
        Value::U16(uint16) => (sys::PMIX_UINT16, Data { uint16: *uint16 }),
        Value::U32(uint32) => (sys::PMIX_UINT32, Data { uint32: *uint32 }),
        Value::U64(uint64) => (sys::PMIX_UINT64, Data { uint64: *uint64 }),
        Value::Float(fval) => (sys::PMIX_FLOAT, Data { fval: *fval }),
        Value::Double(dval) => (sys::PMIX_DOUBLE, Data { dval: *dval }),
        Value::Status(status) => (sys::PMIX_STATUS, Data { status: status.0 }),
        Value::Rank(rank) => (sys::PMIX_PROC_RANK, Data { rank: *rank }),
        Value::Range(range) => (sys::PMIX_DATA_RANGE, Data { range: *range }),
        Value::Persistence(persist) => (sys::PMIX_PERSIST, Data { persist: *persist }),
        Value::Proc(proc) => (sys::PMIX_PROC, Data { proc_: Box::into_raw(Box::new(c_proc(proc))) }),
        Value::Bytes(bytes) => (sys::PMIX_BYTE_OBJECT, Data { bo: encode_bytes(bytes) }),
        Value::Regex(bytes) => (sys::PMIX_REGEX, Data { bo: encode_bytes(bytes) }),
        Value::Infos(infos) => {
            let (array, size) = InfoArray::new(infos).into_raw();
            (sys::PMIX_DATA_ARRAY, encode_array(sys::PMIX_INFO, array.cast(), size))
        }
        Value::Procs(procs) => {
            let raw: Box<[_]> = procs.iter().map(c_proc).collect();
            let size = raw.len();
            (sys::PMIX_DATA_ARRAY, encode_array(sys::PMIX_PROC, Box::into_raw(raw).cast(), size))
        }
        Value::U32s(numbers) => {
            let raw: Box<[u32]> = numbers.as_slice().into();
            let size = raw.len();
            (sys::PMIX_DATA_ARRAY, encode_array(sys::PMIX_UINT32, Box::into_raw(raw).cast(), size))
        }
        Value::Strings(texts) => {
            let raw: Box<[_]> = texts.iter().map(|text| c_text(text)).collect();
            let size = raw.len();
            (sys::PMIX_DATA_ARRAY, encode_array(sys::PMIX_STRING, Box::into_raw(raw).cast(), size))
        }
        Value::ProcInfos(procs) => {
            let raw: Box<[_]> = procs.iter().map(c_proc_info).collect();
            let size = raw.len();
            (sys::PMIX_DATA_ARRAY, encode_array(sys::PMIX_PROC_INFO, Box::into_raw(raw).cast(), size))
        }
        Value::Envar(name, value, separator) => {
            let separator = u8::try_from(*separator).unwrap_or_default() as std::os::raw::c_char;
            let envar = sys::pmix_envar_t { envar: c_text(name), value: c_text(value), separator };
            (sys::PMIX_ENVAR, Data { envar })
        }
        Value::Plain(type_, seconds, micros) if u32::from(*type_) == sys::PMIX_TIMEVAL => {
            let tv = sys::timeval { tv_sec: *seconds as _, tv_usec: *micros as _ };
            (sys::PMIX_TIMEVAL, Data { tv })
        }
        Value::Plain(type_, number, _) => {
            let data = match plain_size(*type_) {
                Some(1) => Data { uint8: *number as u8 },
                Some(2) => Data { uint16: *number as u16 },
                Some(4) => Data { uint32: *number as u32 },
                Some(_) | None => Data { uint64: *number },
            };
            (u32::from(*type_), data)
        }
        // A value that could not be decoded cannot be passed on. The server only reads such values.
        Value::Apps(_) | Value::Other(_) => (sys::PMIX_UNDEF, Data { uint64: 0 }),
    };
    sys::pmix_value_t { type_: type_ as u16, data }
}

fn c_proc_info(info: &ProcInfo) -> sys::pmix_proc_info_t {
    sys::pmix_proc_info_t {
        proc_: c_proc(&info.proc),
        hostname: c_text(&info.hostname),
        executable_name: c_text(&info.executable),
        pid: info.pid,
        exit_code: info.exit_code,
        state: info.state,
    }
}

fn encode_bytes(bytes: &[u8]) -> sys::pmix_byte_object_t {
    let copy: Box<[u8]> = bytes.into();
    sys::pmix_byte_object_t { size: copy.len(), bytes: Box::into_raw(copy).cast() }
}

fn encode_array(element: u32, array: *mut std::os::raw::c_void, size: usize) -> sys::pmix_value__bindgen_ty_1 {
    let array = sys::pmix_data_array_t { type_: element as u16, size, array };
    sys::pmix_value__bindgen_ty_1 { darray: Box::into_raw(Box::new(array)) }
}

/// # Safety
/// `encode` made the value, it was not freed before, and it is not used again.
unsafe fn free_value(value: &mut sys::pmix_value_t) {
    // SAFETY: each arm frees, in the way in which `encode` allocated, the member that the type names.
    unsafe {
        match u32::from(value.type_) {
            sys::PMIX_STRING if !value.data.string.is_null() => drop(CString::from_raw(value.data.string)),
            sys::PMIX_ENVAR => {
                let texts = [value.data.envar.envar, value.data.envar.value];
                texts.into_iter().filter(|text| !text.is_null()).for_each(|text| drop(CString::from_raw(text)));
            }
            sys::PMIX_PROC => drop(Box::from_raw(value.data.proc_)),
            // The data of a new group are null by now: libpmix takes them, and frees them by the same allocator.
            sys::PMIX_BYTE_OBJECT if value.data.bo.bytes.is_null() => {}
            sys::PMIX_BYTE_OBJECT | sys::PMIX_REGEX => free_slice::<u8>(value.data.bo.bytes.cast(), value.data.bo.size),
            sys::PMIX_DATA_ARRAY => {
                let array = Box::from_raw(value.data.darray);
                match u32::from(array.type_) {
                    sys::PMIX_INFO => {
                        let infos = Box::from_raw(std::ptr::slice_from_raw_parts_mut(array.array.cast(), array.size));
                        drop(InfoArray { infos });
                    }
                    sys::PMIX_UINT32 => free_slice::<u32>(array.array.cast(), array.size),
                    sys::PMIX_STRING => {
                        let texts: Box<[*mut std::os::raw::c_char]> =
                            Box::from_raw(std::ptr::slice_from_raw_parts_mut(array.array.cast(), array.size));
                        texts.iter().for_each(|text| free_text(*text));
                    }
                    sys::PMIX_PROC_INFO => {
                        let procs: Box<[sys::pmix_proc_info_t]> =
                            Box::from_raw(std::ptr::slice_from_raw_parts_mut(array.array.cast(), array.size));
                        procs.iter().for_each(|info| {
                            free_text(info.hostname);
                            free_text(info.executable_name);
                        });
                    }
                    _ => free_slice::<sys::pmix_proc_t>(array.array.cast(), array.size),
                }
            }
            _ => {}
        }
    }
}

/// # Safety
/// The text comes from `c_text`, and is not used again.
unsafe fn free_text(text: *mut std::os::raw::c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// # Safety
/// Pointer and length come from `Box::into_raw` of a boxed slice.
unsafe fn free_slice<T>(pointer: *mut T, len: usize) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, len)) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn values_come_back_as_they_went_in() {
        let infos = vec![
            Info::new(c"a", true),
            Info::new(c"b", "text"),
            Info::new(c"c", 7u32),
            Info::new(c"d", Status(-8)),
            Info::new(c"e", Proc::new("job@1", 3)),
            Info::new(c"f", Value::Bytes(bytes::Bytes::from_static(&[0, 1, 0]))),
            Info::new(c"g", Value::Regex(b"blob:\0x".to_vec())),
            Info::new(c"h", vec![Info::new(c"inner", vec![Info::new(c"leaf", 1u16)])]),
            Info::new(c"i", Value::Procs(vec![Proc::new("x", Proc::WILDCARD)])),
            Info::new(c"j", Value::Infos(Vec::new())),
            Info::new(c"k", Value::Double(0.5)),
            Info::new(c"l", Value::U32s(vec![7, 8])),
            Info::new(c"m", Value::Persistence(1)),
            Info::new(c"t", Value::Strings(vec!["a".to_owned(), String::new()])),
            Info::new(c"n", Value::Envar("PATH".to_owned(), "/bin".to_owned(), ':')),
            Info::new(c"o", Value::Plain(sys::PMIX_TIMEVAL as u16, 5, 7)),
            Info::new(c"p", Value::Plain(sys::PMIX_SCOPE as u16, 3, 0)),
            Info::new(c"q", Value::Plain(sys::PMIX_LOCTYPE as u16, 300, 0)),
            Info::new(c"r", Value::Plain(sys::PMIX_INFO_DIRECTIVES as u16, 70_000, 0)),
            Info::new(c"s", Value::Plain(sys::PMIX_TIME as u16, u64::MAX, 0)),
        ];
        let mut array = InfoArray::new(&infos);
        // SAFETY: the array was just made.
        let back = unsafe { Info::from_array(array.as_mut_ptr(), array.len()) };
        assert_eq!(back, infos);
    }

    #[test]
    fn descriptions_of_processes_are_written_and_given_back() {
        let info = ProcInfo {
            proc: Proc::new("f@1", 3),
            hostname: "n1".to_owned(),
            executable: "/bin/true".to_owned(),
            pid: 77,
            exit_code: 0,
            state: 4,
        };
        let mut array = InfoArray::new(&[Info::new(c"k", Value::ProcInfos(vec![info.clone(), info]))]);
        // SAFETY: the array was just made, with a value of this type.
        let second = unsafe {
            let list = &*(*array.as_mut_ptr()).value.data.darray;
            assert_eq!((u32::from(list.type_), list.size), (sys::PMIX_PROC_INFO, 2));
            &*list.array.cast::<sys::pmix_proc_info_t>().add(1)
        };
        // SAFETY: as above.
        let host = unsafe { crate::value::text(second.hostname) };
        assert_eq!((host.as_str(), second.pid, second.proc_.rank), ("n1", 77, 3));
    }

    #[test]
    fn programs_of_an_array_are_read() {
        let (mut word, mut cwd) = (*b"a.out\0", *b"/tmp\0");
        let mut words = [word.as_mut_ptr().cast(), std::ptr::null_mut()];
        let mut about = InfoArray::new(&[Info::new(c"x", 7u32)]);
        let mut program = *b"/bin/b.out\0";
        let mut read = |cmd: *mut std::ffi::c_char| {
            let mut apps = [sys::pmix_app_t {
                cmd,
                argv: words.as_mut_ptr(),
                env: std::ptr::null_mut(),
                cwd: cwd.as_mut_ptr().cast(),
                maxprocs: 3,
                info: about.as_mut_ptr(),
                ninfo: about.len(),
            }];
            let mut array =
                sys::pmix_data_array_t { type_: sys::PMIX_APP as u16, size: 1, array: apps.as_mut_ptr().cast() };
            let value = sys::pmix_value_t {
                type_: sys::PMIX_DATA_ARRAY as u16,
                data: sys::pmix_value__bindgen_ty_1 { darray: &raw mut array },
            };
            let raw = [sys::pmix_info_t { key: encode_key("apps"), flags: 0, value }];
            // SAFETY: everything that it points to lives here.
            unsafe { Info::from_array(raw.as_ptr(), 1) }.remove(0).value
        };
        let expected = crate::App {
            argv: vec!["a.out".to_owned()],
            cwd: Some("/tmp".to_owned()),
            maxprocs: 3,
            info: vec![Info::new(c"x", 7u32)],
            ..crate::App::default()
        };
        assert_eq!(read(std::ptr::null_mut()), Value::Apps(vec![expected.clone()]));
        let named = crate::App { argv: vec!["/bin/b.out".to_owned()], arg0: Some("a.out".to_owned()), ..expected };
        assert_eq!(read(program.as_mut_ptr().cast()), Value::Apps(vec![named]));
    }

    #[test]
    fn names_that_are_too_long_are_cut_and_do_not_overflow() {
        let infos = vec![Info { key: "k".repeat(900), value: Proc::new("n".repeat(900), 1).into() }];
        let mut array = InfoArray::new(&infos);
        // SAFETY: the array was just made.
        let back = unsafe { Info::from_array(array.as_mut_ptr(), array.len()) };
        assert_eq!(back[0].key.len(), 511);
        assert!(matches!(&back[0].value, Value::Proc(p) if p.nspace.len() == 63));
    }

    #[test]
    fn nesting_beyond_the_limit_is_not_decoded() {
        let mut value = Value::Bool(true);
        for _ in 0..20 {
            value = Value::Infos(vec![Info { key: "x".into(), value }]);
        }
        let mut array = InfoArray::new(&[Info { key: "x".into(), value }]);
        // SAFETY: the array was just made.
        let back = unsafe { Info::from_array(array.as_mut_ptr(), array.len()) };
        assert!(format!("{back:?}").contains("Other(39)"));
    }
}
