//! Finding and opening libpmix. Called once per process, by the first thing that needs PMIx.

use std::ffi::{CStr, OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::bindings::Functions;

/// The variable that names the file of libpmix.
pub const LIBPMIX_ENV: &str = "FERRITE_LIBPMIX";
/// The name that 4.2 and all later releases have in common.
const SONAME: &str = "libpmix.so.2";
/// Directories in which other distributions, and builds from source, put a library that the loader's own configuration
/// does not name.
const FOLDERS: [&str; 5] =
    ["/usr/lib64/pmix/lib", "/usr/lib64/pmix2/lib", "/opt/pmix/lib", "/usr/local/lib", "/usr/lib64"];

/// A release of libpmix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 4 in 4.2.2.
    pub major: u32,
    /// 2 in 4.2.2.
    pub minor: u32,
    /// 2 in 4.2.2.
    pub release: u32,
}

impl Version {
    /// The oldest release with every function of the table.
    pub const OLDEST: Self = Self { major: 4, minor: 2, release: 0 };
    /// The first release whose server module nobody has looked at. Up to 7.0 the types, the functions and the values
    /// that are used are those of 4.2, and entries of the module are only appended.
    pub const TOO_NEW: Self = Self { major: 8, minor: 0, release: 0 };

    /// Finds the version in the library's own text, `OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, ...)`.
    pub fn find_in(text: &str) -> Option<Self> {
        let word = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        let mut numbers = word.split('.').map(leading_number);
        Some(Self { major: numbers.next()??, minor: numbers.next()??, release: numbers.next().flatten().unwrap_or(0) })
    }

    fn is_supported(self) -> bool {
        Self::OLDEST <= self && self < Self::TOO_NEW
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.release)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

/// Why libpmix could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No file of that name could be loaded.
    #[error(
        "cannot load libpmix ({}); install libpmix2 (Debian: apt-get install libpmix2) or name the file in FERRITE_LIBPMIX",
        tried.join("; ")
    )]
    NotFound {
        /// One line per file tried, with the loader's reason.
        tried: Vec<String>,
    },
    /// A release whose interface is not the one this program was built for.
    #[error("{} is libpmix {version}; this program works with {} up to, but without, {}", path.display(), Version::OLDEST, Version::TOO_NEW)]
    WrongVersion {
        /// The file.
        path: PathBuf,
        /// The library's own word on its release.
        version: String,
    },
    /// The library lacks a function.
    #[error("{} lacks a function that a PMIx server needs: {reason}", path.display())]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The loader's reason; names the function.
        reason: String,
    },
}

/// The opened library. It stays open until the process ends: its threads may outlive every user of it.
pub struct Library {
    functions: Functions,
    version: Version,
    path: PathBuf,
}

impl Library {
    /// Opens the file that `FERRITE_LIBPMIX` names, else the first that [`search_path`] offers.
    ///
    /// # Errors
    /// When there is none, or when it is a release with another interface.
    pub fn open() -> Result<Self, OpenError> {
        Self::open_first(&search_path(std::env::var_os(LIBPMIX_ENV).as_deref()))
    }

    /// Opens the first of `candidates` that the loader accepts.
    ///
    /// # Errors
    /// As [`Library::open`]. A file that loads but does not fit ends the search: to go on silently would
    /// hide from the user that it is the wrong one.
    pub fn open_first(candidates: &[OsString]) -> Result<Self, OpenError> {
        let mut tried = Vec::new();
        for candidate in candidates {
            // SAFETY: loading runs the library's constructors; libpmix and what it depends on are made to be
            // loaded into any process, and the user chose the file.
            match unsafe { libloading::Library::new(candidate) } {
                Ok(library) => return Self::from_handle(library, Path::new(candidate)),
                Err(error) => tried.push(reason_of(&error)),
            }
        }
        Err(OpenError::NotFound { tried })
    }

    fn from_handle(library: libloading::Library, path: &Path) -> Result<Self, OpenError> {
        let path = path.to_path_buf();
        let version = version_of(&library).map_err(|reason| OpenError::Incomplete { path: path.clone(), reason })?;
        let version = match Version::find_in(&version) {
            Some(known) if known.is_supported() => known,
            _ => return Err(OpenError::WrongVersion { path, version }),
        };
        // SAFETY: the version says that the functions have the signatures of the bindings.
        match unsafe { Functions::from_library(library) } {
            Ok(functions) => Ok(Self { functions, version, path }),
            Err(error) => Err(OpenError::Incomplete { path, reason: reason_of(&error) }),
        }
    }

    /// The functions.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The release.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file as it was named to the loader.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The loader's own words, which name the file or the function.
fn reason_of(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn version_of(library: &libloading::Library) -> Result<String, String> {
    type GetVersion = unsafe extern "C" fn() -> *const std::os::raw::c_char;
    // SAFETY: every release declares the function so; it returns a constant string and needs no initialization.
    unsafe {
        let function = library.get::<GetVersion>(b"PMIx_Get_version\0").map_err(|error| reason_of(&error))?;
        let text = function();
        if text.is_null() {
            return Err("it states no version".into());
        }
        Ok(CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// The files to try, in order. `chosen` is the user's choice and excludes every other.
pub fn search_path(chosen: Option<&OsStr>) -> Vec<OsString> {
    if let Some(file) = chosen.filter(|file| !file.is_empty()) {
        return vec![file.to_owned()];
    }
    let folders = [debians_folder(std::env::consts::ARCH)].into_iter().chain(FOLDERS.map(PathBuf::from));
    let fallbacks = folders.map(|folder| folder.join(SONAME).into_os_string());
    std::iter::once(OsString::from(SONAME)).chain(fallbacks).collect()
}

/// The directory of Debian's package for a processor, whose name there differs from Rust's for one of them.
fn debians_folder(processor: &str) -> PathBuf {
    let processor = if processor == "powerpc64" { "powerpc64le" } else { processor };
    format!("/usr/lib/{processor}-linux-gnu/pmix2/lib").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_the_libraries_say() {
        let old = Version::find_in("OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2, Stable ABI: 0.0)");
        assert_eq!(old, Some(Version { major: 4, minor: 2, release: 2 }));
        let new = Version::find_in("OpenPMIx 5.0.11rc1 (PMIx Standard: 5.1)");
        assert_eq!(new, Some(Version { major: 5, minor: 0, release: 11 }));
        assert_eq!(Version::find_in("OpenPMIx"), None);
        assert_eq!(Version::find_in(""), None);
    }

    #[test]
    fn a_major_release_whose_module_is_not_known_is_refused() {
        assert!(!Version { major: 8, minor: 0, release: 0 }.is_supported());
        assert!(!Version { major: 4, minor: 1, release: 9 }.is_supported());
        assert!(Version { major: 7, minor: 9, release: 9 }.is_supported());
    }

    #[test]
    fn the_users_choice_excludes_every_other_file() {
        assert_eq!(search_path(Some(OsStr::new("/x/libpmix.so"))), [OsString::from("/x/libpmix.so")]);
        assert_eq!(search_path(None)[0], OsString::from(SONAME));
        assert!(search_path(Some(OsStr::new(""))).len() > 1);
    }

    #[test]
    fn debians_library_is_looked_for_where_the_package_of_this_processor_has_it() {
        assert_eq!(debians_folder("aarch64"), Path::new("/usr/lib/aarch64-linux-gnu/pmix2/lib"));
        assert_eq!(debians_folder("powerpc64"), Path::new("/usr/lib/powerpc64le-linux-gnu/pmix2/lib"));
        let own = format!("/usr/lib/{}-linux-gnu/pmix2/lib/libpmix.so.2", std::env::consts::ARCH);
        assert_eq!(search_path(None)[1], OsString::from(own));
    }

    #[test]
    fn a_missing_library_is_one_clear_error() {
        let error = Library::open_first(&["/nonexistent/libpmix.so.2".into()]).err().expect("there is no such file");
        let text = error.to_string();
        assert!(text.contains("/nonexistent/libpmix.so.2") && text.contains("FERRITE_LIBPMIX"), "{text}");
    }

    #[test]
    fn another_library_is_refused_with_its_name() {
        let error = Library::open_first(&["libc.so.6".into()]).err().expect("libc is no libpmix");
        assert!(error.to_string().contains("libc.so.6"), "{error}");
    }
}
