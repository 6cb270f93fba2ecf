//! Names of allocations. An allocation's id and a requester's own name for it are different types on purpose.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A name as its bytes stand in requests and answers.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> $name {
                $name(name)
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> $name {
                $name(name.to_owned())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            /// As the text, in the traces of the simulator too.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name! {
    /// The id of an allocation (`PMIX_ALLOC_ID`): `a1`, `a2` and so on for requests; the DVM's own name for the nodes
    /// that it began with; a scheduler chooses others. Unique among the allocations of a DVM. A request may state the
    /// requester's own name for the allocation instead ([`AllocReqId`]).
    AllocId
}

name! {
    /// The requester's own name for a request and the allocation that it made (`PMIX_ALLOC_REQ_ID`); answers repeat
    /// it. Several allocations may have the same.
    AllocReqId
}

impl AllocReqId {
    /// The name in place of an allocation's id, as requests may state it.
    #[must_use]
    pub fn in_place_of_id(&self) -> AllocId {
        AllocId(self.0.clone())
    }
}
