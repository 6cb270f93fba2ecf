//! Environment variables by which the makers' libraries learn the devices of a process. The daemon that starts the
//! process calls this, and passes the environment in. Pure.

use ferrite_types::{Device, DeviceKind, DeviceVendor};
use thiserror::Error;

/// The variable that selects how Intel's library counts: whole cards, as a topology does. In other modes the numbers
/// name parts of cards.
const HIERARCHY: &str = "ZE_FLAT_DEVICE_HIERARCHY";
const WHOLE_CARDS: &str = "COMPOSITE";

/// The reason why a process cannot be told which devices it has; it would use those of others.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceEnvError {
    /// A device without the unique name that the maker's library needs.
    #[error("device {device} has no unique name by which {variable} could name it; map by something else than devices")]
    Nameless {
        /// The device.
        device: String,
        /// The variable.
        variable: &'static str,
    },
    /// The environment selects another way of counting.
    #[error(
        "{HIERARCHY}={value} of the environment counts other devices than ZE_AFFINITY_MASK={mask} would name; unset it, or set it to {WHOLE_CARDS}"
    )]
    OtherHierarchy {
        /// The present value.
        value: String,
        /// The value that Ferrite would set.
        mask: String,
    },
}

/// Returns the variables in a fixed order; they replace present values. `environment` is that of the process without
/// them.
///
/// # Errors
/// The first device that the process cannot be told of.
pub fn device_env(
    devices: &[Device],
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(&'static str, String)>, DeviceEnvError> {
    let mut env = Vec::new();
    let of = |vendor| devices.iter().filter(move |device| device.vendor == vendor);
    for (vendor, variable, prefix) in
        [(DeviceVendor::Nvidia, "CUDA_VISIBLE_DEVICES", ""), (DeviceVendor::Amd, "ROCR_VISIBLE_DEVICES", "GPU-")]
    {
        let named = of(vendor).map(|device| unique_name(device, variable, prefix));
        add(&mut env, variable, &named.collect::<Result<Vec<_>, _>>()?);
    }
    let cards: Vec<String> = of(DeviceVendor::Intel).filter(is_gpu).map(|device| device.index.to_string()).collect();
    if !cards.is_empty() {
        match environment(HIERARCHY) {
            None => env.push((HIERARCHY, WHOLE_CARDS.to_owned())),
            Some(value) if value.eq_ignore_ascii_case(WHOLE_CARDS) => {}
            Some(value) => return Err(DeviceEnvError::OtherHierarchy { value, mask: cards.join(",") }),
        }
    }
    add(&mut env, "ZE_AFFINITY_MASK", &cards);
    let names = |vendor| of(vendor).map(|device| device.name.clone()).collect::<Vec<_>>();
    let adapters = names(DeviceVendor::OpenFabrics);
    add(&mut env, "NCCL_IB_HCA", &adapters);
    // UCX counts ports; the process gets all ports of its adapters.
    add(&mut env, "UCX_NET_DEVICES", &adapters.iter().map(|name| format!("{name}:*")).collect::<Vec<_>>());
    add(&mut env, "PSM3_NIC", &names(DeviceVendor::Psm));
    Ok(env)
}

fn is_gpu(device: &&Device) -> bool {
    device.kind == DeviceKind::Gpu
}

fn add(env: &mut Vec<(&'static str, String)>, variable: &'static str, values: &[String]) {
    if !values.is_empty() {
        env.push((variable, values.join(",")));
    }
}

fn unique_name(device: &Device, variable: &'static str, prefix: &str) -> Result<String, DeviceEnvError> {
    let nameless = || DeviceEnvError::Nameless { device: device.name.clone(), variable };
    let uuid = device.uuid.as_ref().ok_or_else(nameless)?;
    // AMD's tools print the bare number; its library needs a prefix.
    Ok(if uuid.starts_with(prefix) { uuid.clone() } else { format!("{prefix}{uuid}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology_file;

    fn told(names: &[&str], environment: &[(&str, &str)]) -> String {
        let machine = topology_file::parse(include_str!("../tests/topologies/devices.xml")).expect("a good file");
        let find = |name: &&str| machine.devices.iter().find(|d| d.name == **name).cloned();
        let devices: Vec<Device> = names.iter().filter_map(find).collect();
        assert_eq!(devices.len(), names.len());
        let set = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        match device_env(&devices, set) {
            Ok(env) => env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn each_maker_has_its_own_variables() {
        assert_eq!(told(&["cuda1"], &[]), "CUDA_VISIBLE_DEVICES=GPU-11111111-aaaa-bbbb-cccc-000000000001");
        assert_eq!(told(&["rsmi0"], &[]), "ROCR_VISIBLE_DEVICES=GPU-18f68a8b3cd1fd5c");
        assert_eq!(told(&["ze0"], &[]), "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_AFFINITY_MASK=0");
        assert_eq!(told(&["mlx5_0"], &[]), "NCCL_IB_HCA=mlx5_0 UCX_NET_DEVICES=mlx5_0:*");
        assert_eq!(told(&["eth0", "nvme0n1"], &[]), "");
        assert_eq!(told(&[], &[]), "");
    }

    #[test]
    fn a_choice_of_the_user_that_agrees_is_kept_and_another_is_an_obstacle() {
        assert_eq!(told(&["ze0"], &[("ZE_FLAT_DEVICE_HIERARCHY", "composite")]), "ZE_AFFINITY_MASK=0");
        assert_eq!(
            told(&["ze0"], &[("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")]),
            "ZE_FLAT_DEVICE_HIERARCHY=FLAT of the environment counts other devices than ZE_AFFINITY_MASK=0 would name; unset it, \
             or set it to COMPOSITE"
        );
    }

    #[test]
    fn a_device_without_a_unique_name_is_not_told_by_a_guess() {
        let machine = topology_file::parse(include_str!("../tests/topologies/devices.xml")).expect("a good file");
        let nvidia = machine.devices.iter().find(|d| d.vendor == DeviceVendor::Nvidia).expect("it has one");
        let nameless = Device { uuid: None, ..nvidia.clone() };
        let error = device_env(&[nameless], |_| None).unwrap_err();
        assert!(matches!(error, DeviceEnvError::Nameless { variable: "CUDA_VISIBLE_DEVICES", .. }), "{error}");
    }
}
