package sshboot

import (
	"strings"
	"sync"
)

// rule is golaunch's treatment of a keyword of ssh_config(5).
type rule uint8

const (
	honoured rule = iota + 1 // means what it means to ssh
	refused                  // stops the start, but for values that change nothing
	harmless                 // passed over: golaunch never does what it is about
	told                     // the same, and said so, but for values that change nothing: ranks may want it
)

// keyword is one line of the table.
type keyword struct {
	name string // as ssh_config(5) spells it
	rule rule
	// why gives the extent to which a keyword is honoured, a replacement of one that is
	// refused, or the reason for which one does no harm.
	why string
	// fine are the values, in lower case, that a refused keyword may have, and of which
	// nothing is told.
	fine []string
	// alias are older names, in lower case.
	alias []string
}

// The reasons that several keywords share.
const (
	onlyKeys    = "golaunch logs in with keys and by no other method"
	noForwards  = "golaunch forwards nothing"
	noTerminal  = "golaunch has no terminal on hosts"
	noSharing   = "golaunch shares no connection"
	noEnviron   = "ranks have the environment that golaunch gives them"
	onlyShown   = "it is about what ssh prints"
	ownChecks   = "golaunch watches its links itself: --lost-after"
	noCanon     = "only CanonicalizeHostname, which is refused, makes use of it"
	strictHosts = "golaunch checks every host against known_hosts all the same"
	notEvenSSH  = "ssh itself has given it up"
)

var (
	no   = []string{"no", "false"}
	none = []string{"none"}
)

// keywords is all that ssh_config(5) knows. A keyword that is not here is
// refused unless IgnoreUnknown names it. The table in docs/hosts.md is
// this one.
var keywords = []keyword{
	{name: "AddKeysToAgent", rule: harmless, why: "golaunch adds no key to the ssh-agent"},
	{name: "AddressFamily", rule: honoured, why: "where golaunch or a node resolves names"},
	{name: "AFSTokenPassing", rule: harmless, why: notEvenSSH},
	{name: "BatchMode", rule: honoured, why: "yes: golaunch asks for no passphrase"},
	{name: "BindAddress", rule: refused, why: "the kernel chooses the address to connect from, on each node"},
	{name: "BindInterface", rule: refused, why: "the kernel chooses the interface to connect from, on each node"},
	{name: "CanonicalDomains", rule: harmless, why: noCanon},
	{name: "CanonicalizeFallbackLocal", rule: harmless, why: noCanon},
	{name: "CanonicalizeHostname", rule: refused, fine: no, why: "write HostName, or the full names of the hosts"},
	{name: "CanonicalizeMaxDots", rule: harmless, why: noCanon},
	{name: "CanonicalizePermittedCNAMEs", rule: refused, fine: none, why: "write HostName, or the full names of the hosts"},
	{name: "CASignatureAlgorithms", rule: honoured, why: "by default without SHA-1, as in ssh"},
	{name: "CertificateFile", rule: honoured, why: "besides IDENTITY-cert.pub"},
	{name: "ChannelTimeout", rule: harmless, why: noForwards},
	{name: "CheckHostIP", rule: refused, fine: no, why: "addresses are not looked up in known_hosts"},
	{name: "Cipher", rule: harmless, why: notEvenSSH},
	{name: "Ciphers", rule: honoured, why: "golaunch passes over those that it lacks; nothing left is refused"},
	{name: "ClearAllForwardings", rule: harmless, why: noForwards},
	{name: "Compression", rule: harmless, why: "golaunch never compresses"},
	{name: "CompressionLevel", rule: harmless, why: notEvenSSH},
	{name: "ConnectionAttempts", rule: honoured, why: "at least so many tries, one a second; golaunch goes on until --connect-timeout"},
	{name: "ConnectTimeout", rule: honoured, why: "it bounds the connection, not the log-in"},
	{name: "ControlMaster", rule: harmless, why: noSharing},
	{name: "ControlPath", rule: harmless, why: noSharing},
	{name: "ControlPersist", rule: harmless, why: noSharing},
	{name: "DynamicForward", rule: harmless, why: noForwards},
	{name: "EnableEscapeCommandline", rule: harmless, why: noTerminal},
	{name: "EnableSSHKeysign", rule: harmless, why: onlyKeys},
	{name: "EscapeChar", rule: harmless, why: noTerminal},
	{name: "ExitOnForwardFailure", rule: harmless, why: noForwards},
	{name: "FallBackToRsh", rule: harmless, why: notEvenSSH},
	{name: "FingerprintHash", rule: harmless, why: onlyShown},
	{name: "ForkAfterAuthentication", rule: harmless, why: noTerminal},
	{name: "ForwardAgent", rule: told, fine: no, why: "ranks have no ssh-agent of yours: keys never travel, and golaunch signs nothing after the start"},
	{name: "ForwardX11", rule: harmless, why: noForwards},
	{name: "ForwardX11Timeout", rule: harmless, why: noForwards},
	{name: "ForwardX11Trusted", rule: harmless, why: noForwards},
	{name: "GatewayPorts", rule: harmless, why: noForwards},
	{name: "GlobalKnownHostsFile", rule: honoured},
	{name: "GlobalKnownHostsFile2", rule: harmless, why: notEvenSSH},
	{name: "GSSAPIAuthentication", rule: harmless, why: onlyKeys},
	{name: "GSSAPIClientIdentity", rule: harmless, why: onlyKeys},
	{name: "GSSAPIDelegateCredentials", rule: harmless, why: onlyKeys},
	{name: "GSSAPIKexAlgorithms", rule: harmless, why: "hosts prove themselves by their keys"},
	{name: "GSSAPIKeyExchange", rule: harmless, why: "hosts prove themselves by their keys"},
	{name: "GSSAPIRenewalForcesRekey", rule: harmless, why: onlyKeys},
	{name: "GSSAPIServerIdentity", rule: harmless, why: onlyKeys},
	{name: "GSSAPITrustDns", rule: harmless, why: onlyKeys},
	{name: "HashKnownHosts", rule: honoured, why: "for keys that accept-new or no records"},
	{name: "Host", rule: honoured},
	{name: "HostbasedAcceptedAlgorithms", rule: harmless, why: onlyKeys, alias: []string{"hostbasedkeytypes"}},
	{name: "HostbasedAuthentication", rule: harmless, why: onlyKeys},
	{name: "HostKeyAlgorithms", rule: honoured, why: "never SHA-1; security keys of hosts are not known"},
	{name: "HostKeyAlias", rule: honoured},
	{name: "HostName", rule: honoured},
	{name: "IdentitiesOnly", rule: honoured},
	{name: "IdentityAgent", rule: honoured},
	{name: "IdentityFile", rule: honoured, alias: []string{"identityfile2"}},
	{name: "IgnoreUnknown", rule: honoured},
	{name: "Include", rule: honoured},
	{name: "IPQoS", rule: harmless, why: "it changes no byte of what is sent"},
	{name: "KbdInteractiveAuthentication", rule: harmless, why: onlyKeys,
		alias: []string{"challengeresponseauthentication", "skeyauthentication", "tisauthentication"}},
	{name: "KbdInteractiveDevices", rule: harmless, why: onlyKeys},
	{name: "KerberosAuthentication", rule: harmless, why: notEvenSSH},
	{name: "KerberosTGTPassing", rule: harmless, why: notEvenSSH},
	{name: "KexAlgorithms", rule: honoured, why: "never SHA-1; golaunch passes over those that it lacks; nothing left is refused"},
	{name: "KnownHostsCommand", rule: refused, fine: none, why: "write its keys to a file that UserKnownHostsFile names"},
	{name: "LocalCommand", rule: harmless, why: "golaunch runs nothing here for a connection"},
	{name: "LocalForward", rule: harmless, why: noForwards},
	{name: "LogLevel", rule: harmless, why: onlyShown},
	{name: "LogVerbose", rule: harmless, why: onlyShown},
	{name: "MACs", rule: honoured, why: "golaunch passes over those that it lacks; nothing left is refused"},
	{name: "Match", rule: honoured, why: "all, host, originalhost, user, localuser, exec, final and canonical; a block with another criterion is refused where the rest holds"},
	{name: "NoHostAuthenticationForLocalhost", rule: harmless, why: strictHosts},
	{name: "NumberOfPasswordPrompts", rule: harmless, why: "golaunch logs in by keys alone"},
	{name: "ObscureKeystrokeTiming", rule: harmless, why: noTerminal},
	{name: "PasswordAuthentication", rule: harmless, why: onlyKeys},
	{name: "PermitLocalCommand", rule: harmless, why: "golaunch runs nothing here for a connection"},
	{name: "PermitRemoteOpen", rule: harmless, why: noForwards},
	{name: "PKCS11Provider", rule: harmless, why: "keys in a token are used where the ssh-agent holds them: ssh-add -s", alias: []string{"smartcarddevice"}},
	{name: "Port", rule: honoured},
	{name: "PreferredAuthentications", rule: honoured, why: "refused without publickey: " + onlyKeys},
	{name: "Protocol", rule: harmless, why: notEvenSSH},
	{name: "ProtocolKeepAlives", rule: harmless, why: ownChecks},
	{name: "ProxyCommand", rule: honoured, why: "by the launcher; nodes dial each other directly"},
	{name: "ProxyJump", rule: honoured, why: "by the launcher; nodes dial each other directly"},
	{name: "ProxyUseFdpass", rule: refused, fine: no, why: "a ProxyCommand has to pass the bytes on itself"},
	{name: "PubkeyAcceptedAlgorithms", rule: honoured, why: "never SHA-1", alias: []string{"pubkeyacceptedkeytypes"}},
	{name: "PubkeyAuthentication", rule: refused, fine: []string{"yes", "true", "unbound", "host-bound"}, why: onlyKeys,
		alias: []string{"dsaauthentication"}},
	{name: "RefuseConnection", rule: refused, why: "the configuration wants no connection"},
	{name: "RekeyLimit", rule: honoured, why: "the amount; a time is passed over, since keys wear out by what they carry"},
	{name: "RemoteCommand", rule: harmless, why: "golaunch runs its own command"},
	{name: "RemoteForward", rule: harmless, why: noForwards},
	{name: "RequestTTY", rule: harmless, why: noTerminal},
	{name: "RequiredRSASize", rule: honoured},
	{name: "RevokedHostKeys", rule: honoured, why: "a list of keys; a KRL is refused"},
	{name: "RhostsAuthentication", rule: harmless, why: notEvenSSH},
	{name: "RhostsRSAAuthentication", rule: harmless, why: notEvenSSH},
	{name: "RSAAuthentication", rule: harmless, why: notEvenSSH},
	{name: "SecurityKeyProvider", rule: harmless, why: "security keys are used where the ssh-agent holds them"},
	{name: "SendEnv", rule: harmless, why: noEnviron},
	{name: "ServerAliveCountMax", rule: harmless, why: ownChecks},
	{name: "ServerAliveInterval", rule: harmless, why: ownChecks},
	{name: "SessionType", rule: harmless, why: "golaunch runs its own command"},
	{name: "SetEnv", rule: harmless, why: noEnviron},
	{name: "SetupTimeOut", rule: harmless, why: "golaunch bounds the log-in itself: --connect-timeout"},
	{name: "StdinNull", rule: harmless, why: "golaunch needs the standard input of its own command"},
	{name: "StreamLocalBindMask", rule: harmless, why: noForwards},
	{name: "StreamLocalBindUnlink", rule: harmless, why: noForwards},
	{name: "StrictHostKeyChecking", rule: honoured, why: "ask means yes: golaunch asks nobody"},
	{name: "SyslogFacility", rule: harmless, why: onlyShown},
	{name: "Tag", rule: harmless, why: "only Match tagged, which is refused, makes use of it"},
	{name: "TCPKeepAlive", rule: harmless, why: ownChecks, alias: []string{"keepalive"}},
	{name: "Tunnel", rule: harmless, why: noForwards},
	{name: "TunnelDevice", rule: harmless, why: noForwards},
	{name: "UpdateHostKeys", rule: harmless, why: "golaunch adds no further keys of a host"},
	{name: "UseBlacklistedKeys", rule: harmless, why: notEvenSSH},
	{name: "UsePrivilegedPort", rule: harmless, why: notEvenSSH},
	{name: "User", rule: honoured},
	{name: "UserKnownHostsFile", rule: honoured},
	{name: "UserKnownHostsFile2", rule: harmless, why: notEvenSSH},
	{name: "UseRoaming", rule: harmless, why: notEvenSSH},
	{name: "UseRsh", rule: harmless, why: notEvenSSH},
	{name: "VerifyHostKeyDNS", rule: harmless, why: strictHosts},
	{name: "VersionAddendum", rule: harmless, why: "golaunch has its own version line"},
	{name: "VisualHostKey", rule: harmless, why: onlyShown},
	{name: "WarnWeakCrypto", rule: harmless, why: onlyShown},
	{name: "XAuthLocation", rule: harmless, why: noForwards},
}

// byName finds a keyword by its names in lower case. It is made when it is asked for:
// this package is linked into agents, which read no configuration.
var byName = sync.OnceValue(func() map[string]*keyword {
	m := make(map[string]*keyword)
	for i := range keywords {
		k := &keywords[i]
		m[strings.ToLower(k.name)] = k
		for _, a := range k.alias {
			m[a] = k
		}
	}
	return m
})
