// SPDX-License-Identifier: BSD-3-Clause
/*
 * Records the counters of ports and host before and after a program, one file a node. It is started instead of
 * the program and starts it; it is no MPI program itself and includes none of the headers that are.
 *
 * Two rules: the program does, prints and returns the same as without this, and nothing here can make it
 * fail. So whatever goes wrong ends in exec.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, execvp under -std=c11 */
#endif

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#define PROGRAM "ports"
#define FORMAT "1"

enum {
    exit_usage = 2,
    exit_not_started = 126, /* as shells have it; 127 if there is no such program */
    longest_name = 512,
    longest_value = 16 * 1024, /* the lines of /proc/net/netstat are the longest */
    most_bytes = 1024 * 1024,  /* of a snapshot */
    most_matches = 4096,       /* files of one pattern */
    most_interfaces = 256,
    most_statistics = 512, /* of ethtool, of one interface */
    longest_ms = 2000,     /* of a snapshot: firmware that hangs would hang the program */
    longest_query_ms = 800, /* of nvidia-smi, which is a part of it; it is called twice at most */
    longest_journal_ms = 300,
    most_messages = 50       /* of the kernel, during the program */
};

static const char method[] =
    "ports: records the counters of a node's ports and of the node before and after a program.\n"
    "\n"
    "  mpirun -np 4 ports --output FOLDER -- PROGRAM ARGUMENTS...\n"
    "The first process on a node that makes FOLDER/NODE.txt records: it reads the\n"
    "counters of InfiniBand, Omni-Path, Slingshot and Ethernet in /sys, those of TCP\n"
    "in /proc, speed and driver by ioctl, the bridges of PCIe above\n"
    "each GPU and adapter, and, where there is NVIDIA's driver, what nvidia-smi knows of NVLink;\n"
    "starts PROGRAM with what it has inherited itself; reads them again when that ends,\n"
    "with what the kernel logged of adapters, links and GPUs since, if /dev/kmsg or the\n"
    "journal may be read; and ends as PROGRAM did. Every other process becomes PROGRAM at once, and so\n"
    "does this one if it cannot write.\n"
    "Lines: path, a tab, one line of the file, or what a device's link resolves to; `!`\n"
    "and an error's name where a file may not be read. A snapshot takes at most 2 s and\n"
    "1 MiB; what is beyond is left out, which the file records.\n"
    "\n"
    "  --output FOLDER  where the files go; made if it is not there\n"
    "  --root DIR       read /sys and /proc below DIR, and ask nothing by ioctl\n"
    "  --help           this text\n"
    "  --version        the number of the format\n";

/* All that their drivers have, whatever part of them a container or a job may use. */
#define GPUS "/sys/bus/pci/drivers/{nvidia,amdgpu}/*:*"
#define PCI_LINK "device/{numa_node,{current,max}_link_{speed,width}}"

/* Patterns of the files that are read, and of the links that are resolved. */
static const char *const files[] = {
    /* InfiniBand, RoCE, Omni-Path, EFA */
    "/sys/class/infiniband/*/{fw_ver,board_id,hca_type}",
    "/sys/class/infiniband/*/" PCI_LINK,
    "/sys/class/infiniband/*/ports/*/{state,phys_state,rate,link_layer,gid_attrs/ndevs/0}",
    "/sys/class/infiniband/*/ports/*/{counters,hw_counters}/*",
    /* Slingshot */
    "/sys/class/cxi/*/device/fw_version",
    "/sys/class/cxi/*/" PCI_LINK,
    "/sys/class/cxi/*/device/{net/*/operstate,properties/*}",
    "/sys/class/cxi/*/device/telemetry/{hni_sts_*_ok_octets,hni_pcs_*corrected_cw,hni_llr_*_replay_event}",
    "/sys/class/cxi/*/device/telemetry/{pct_*timeouts,pct_*nacks}",
    /* Interfaces: those of the network namespace that this file system was mounted in */
    "/sys/class/net/*/{ifindex,address,type,operstate,speed,mtu,carrier_changes,statistics/rx_crc_errors,device/"
    "vendor}",
    "/sys/class/net/*/" PCI_LINK,
    /* and of this process's own */
    "/proc/self/net/{dev,snmp,netstat}",
    /* The host */
    "/proc/{loadavg,meminfo}",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_{governor,cur_freq,max_freq}",
    /* Links to devices on PCIe: what they resolve to names every bridge above */
    "/sys/class/{infiniband,cxi,net}/*/device",
    GPUS,
    GPUS "/numa_node",
    "/sys/module/{mlx4_core,mlx5_core,hfi1,bnxt_re,cxi_ss1,efa,irdma,hns_roce,bnxt_en,ice}/version",
};
/* Of files with many lines, those that begin so; all of the others. */
static const struct {
    const char *file;
    const char *begins;
} chosen[] = {
    {"/proc/self/net/snmp", "Tcp:"},
    {"/proc/self/net/netstat", "TcpExt:"},
    {"/proc/meminfo", "Mem"},
};

/* ---------------------------------------------------------------- growing text */

struct text {
    char *data; /* of most_bytes; NULL if there is no memory */
    size_t length;
    bool is_full;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = most_bytes - text->length;
    const int length = vsnprintf(text->data + text->length, room, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= room) {
        text->is_full = true; /* half a line is none */
        text->data[text->length] = '\0';
    } else {
        text->length += (size_t)length;
    }
}

/* Nothing of a value may end its line or look like a column. */
static void clean(char *value)
{
    for (unsigned char *byte = (unsigned char *)value; *byte != '\0'; byte++) {
        if (*byte < 0x20 || *byte >= 0x7f) {
            *byte = *byte == '\t' ? ' ' : '?';
        }
    }
}

static void append_row(struct text *text, const char *path, char *value)
{
    char name[longest_name];
    snprintf(name, sizeof name, "%s", path);
    clean(name);
    clean(value);
    size_t length = strlen(value);
    while (length > 0 && value[length - 1] == ' ') {
        value[--length] = '\0';
    }
    append(text, "%s\t%.*s\n", name, (int)longest_value, value);
}

/* ------------------------------------------------------------------------ files */

/* strerrorname_np is younger than the C libraries of many clusters. */
static void append_error(struct text *text, const char *path, int error)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{EACCES, "EACCES"}, {EPERM, "EPERM"},   {EIO, "EIO"},
                 {EINVAL, "EINVAL"}, {ENODEV, "ENODEV"}, {EOPNOTSUPP, "EOPNOTSUPP"}};
    char value[32];
    snprintf(value, sizeof value, "!E%d", error);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].number == error) {
            snprintf(value, sizeof value, "!%s", names[i].name);
        }
    }
    append_row(text, path, value);
}

static bool is_chosen(const char *path, const char *line)
{
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        if (strcmp(path, chosen[i].file) == 0) {
            return strncmp(line, chosen[i].begins, strlen(chosen[i].begins)) == 0;
        }
    }
    return true;
}

/* `path` is the file's name without the root. */
static void append_file(struct text *text, const char *full, const char *path)
{
    /* A device or a pipe that somebody put there would block. */
    const int file = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    if (file < 0 && errno != ENOENT) {
        append_error(text, path, errno);
    }
    FILE *const lines = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(file, "r") : NULL;
    if (lines == NULL) {
        if (file >= 0) {
            close(file);
        }
        return;
    }
    char *line = NULL;
    size_t room = 0;
    ssize_t length = 0;
    while (!text->is_full && (length = getline(&line, &room, lines)) >= 0) {
        for (ssize_t i = 0; i < length; i++) {
            line[i] = line[i] == '\0' ? '?' : (char)(line[i] == '\n' ? '\0' : line[i]);
        }
        if (*line != '\0' && is_chosen(path, line)) {
            append_row(text, path, line);
        }
    }
    if (ferror(lines) != 0) {
        append_error(text, path, errno);
    }
    free(line);
    fclose(lines);
}

/* Appends where a link to a device leads, and the lanes of the device and of each bridge above it. */
static void append_device(struct text *text, const char *full, const char *path)
{
    char *const target = realpath(full, NULL);
    char *const root = strndup(full, (size_t)(path - full));
    char *const base = root == NULL || *root == '\0' ? NULL : realpath(root, NULL);
    const size_t length = base == NULL ? 0 : strlen(base);
    const char *const devices = "/sys/devices/";
    if (target != NULL && (base == NULL || strncmp(target, base, length) == 0) &&
        strncmp(target + length, devices, strlen(devices)) == 0) {
        append_row(text, path, target + length);
        for (char *end = target + strlen(target); end != NULL; end = strrchr(target + length, '/')) {
            char lanes[4096];
            *end = '\0';
            if ((size_t)snprintf(lanes, sizeof lanes, "%s/current_link_width", target) < sizeof lanes) {
                append_file(text, lanes, lanes + length);
            }
        }
    }
    free(base);
    free(root);
    free(target);
}

static void append_files(struct text *text, const char *root)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char pattern[4096];
        glob_t found;
        if ((size_t)snprintf(pattern, sizeof pattern, "%s%s", root, files[i]) >= sizeof pattern ||
            glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, &found) != 0) {
            continue;
        }
        for (size_t k = 0; k < found.gl_pathc && k < most_matches; k++) {
            const char *const full = found.gl_pathv[k];
            struct stat about;
            const bool is_link = lstat(full, &about) == 0 && S_ISLNK(about.st_mode);
            (is_link ? append_device : append_file)(text, full, full + strlen(root));
        }
        globfree(&found);
    }
}

/* -------------------------------------------------------------- NVLink and kernel */

/* Appends `GPU 3: ...`, `Link 5: 25.781 GB/s` and `3, Completed, Success` as states by GPU and link. */
static void append_states(struct text *text, char *lines)
{
    char *rest = NULL;
    unsigned int gpu = 0;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        unsigned int number = 0;
        int at = 0;
        char path[64];
        if (sscanf(line, " GPU %3u:%n", &number, &at) == 1 && at > 0) {
            gpu = number;
        } else if (sscanf(line, " Link %3u: %n", &number, &at) == 1 && at > 0) {
            snprintf(path, sizeof path, "nvlink/%u/%u", gpu, number);
            append_row(text, path, line + at);
        } else if (sscanf(line, " %3u, %n", &number, &at) == 1 && at > 0) {
            snprintf(path, sizeof path, "nvlink/%u/fabric", number);
            append_row(text, path, line + at);
        }
    }
}

/* Reads what a process prints, at most most_ms long; returns whether it ended by then. */
static bool read_output(int file, char *output, size_t room, int most_ms)
{
    const long long ns_of_ms = 1000000;
    struct timespec begin = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    size_t length = 0;
    ssize_t more = 1;
    while (more > 0) {
        struct timespec now = {0, 0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const long long took_ms = (now.tv_sec - begin.tv_sec) * 1000LL + (now.tv_nsec - begin.tv_nsec) / ns_of_ms;
        struct pollfd end = {.fd = file, .events = POLLIN};
        if (took_ms >= most_ms || poll(&end, 1, (int)(most_ms - took_ms)) <= 0) {
            break;
        }
        more = length + 1 < room ? read(file, output + length, room - 1 - length) : 0;
        length += more > 0 ? (size_t)more : 0;
    }
    output[length] = '\0';
    return more == 0;
}

/* Appends what a command prints, in a way of its own; returns its exit status, or -1 if it takes too long. */
static int append_query(struct text *text, char *const *command, int most_ms, void (*append_to)(struct text *, char *))
{
    static char output[64 * 1024];
    int ends[2];
    int status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return status;
    }
    const pid_t started = fork();
    if (started == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0 &&
            dup2(ends[1], STDOUT_FILENO) >= 0) {
            execvp(command[0], command); /* NOLINT(clang-analyzer-optin.taint.GenericTaint): of the user's PATH */
        }
        _exit(exit_not_started);
    }
    close(ends[1]);
    const bool is_whole = started > 0 && read_output(ends[0], output, sizeof output, most_ms);
    if (started > 0) {
        if (is_whole) {
            append_to(text, output);
        } else {
            kill(started, SIGKILL);
        }
        const pid_t ended = waitpid(started, &status, is_whole ? 0 : WNOHANG);
        status = is_whole && ended == started && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    close(ends[0]);
    return status;
}

static void append_nvlink(struct text *text, const char *root)
{
    static char *const links[] = {"nvidia-smi", "nvlink", "--status", NULL};
    static char *const fabric[] = {"nvidia-smi", "--query-gpu=index,fabric.state,fabric.status",
                                   "--format=csv,noheader", NULL};
    char driver[4096];
    if ((size_t)snprintf(driver, sizeof driver, "%s/proc/driver/nvidia/version", root) < sizeof driver &&
        access(driver, F_OK) == 0 && append_query(text, links, longest_query_ms, append_states) >= 0) {
        append_query(text, fabric, longest_query_ms, append_states);
    }
}

/* The kernel's log, from its end on; open while the program runs, which does not inherit it. */
static int messages = -1;
static int why_no_messages = 0;
static char since[64]; /* where only the journal may be read */

static void open_messages(const char *root)
{
    char path[4096];
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(since, sizeof since, "--since=@%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
    snprintf(path, sizeof path, "%s/dev/kmsg", root);
    messages = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (messages < 0 || lseek(messages, 0, SEEK_END) < 0) {
        why_no_messages = errno == ENOENT && *root != '\0' ? -1 : errno; /* a tree without is none that refuses */
    }
}

static bool is_message(const char *line)
{
    static const char *const words[] = {"Xid",  "NVRM",  "nvswitch", "amdgpu", "mlx4",  "mlx5",
                                        "hfi1", "bnxt",  "irdma",    "cxi",    "efa ",  "infiniband",
                                        "AER:", "EDAC",  "mce:",     "NIC Link", "link is", "Link is",
                                        "link down", "Link down", "Out of memory"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(line, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether this user may read the journal of the system: journalctl does not say. */
static bool has_journal(const char *root)
{
    char pattern[4096];
    glob_t found;
    bool is_readable = false;
    if ((size_t)snprintf(pattern, sizeof pattern, "%s/{var,run}/log/journal/*/system.journal", root) < sizeof pattern &&
        glob(pattern, GLOB_NOSORT | GLOB_BRACE, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            is_readable = is_readable || access(found.gl_pathv[i], R_OK) == 0;
        }
        globfree(&found);
    }
    return is_readable;
}

static void append_journal(struct text *text, char *lines)
{
    char *rest = NULL;
    int count = 0;
    for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (count < most_messages && is_message(line)) {
            append_row(text, "/dev/kmsg", line);
            count++;
        }
    }
}

/* Each read of /dev/kmsg is one message: numbers, a semicolon, the text, and lines that begin with a space. */
static void append_messages(struct text *text, const char *root)
{
    static char *const journal[] = {"journalctl", "-kq", "--no-pager", "-ocat", since, NULL};
    char record[8192 + 1];
    ssize_t length = 0;
    if (why_no_messages > 0 &&
        !(has_journal(root) && append_query(text, journal, longest_journal_ms, append_journal) == 0)) {
        append_error(text, "/dev/kmsg", why_no_messages);
    }
    length = why_no_messages == 0;
    for (int count = 0; length > 0 && count < most_messages;) {
        length = read(messages, record, sizeof record - 1);
        if (length < 0 && (errno == EPIPE || errno == EINTR)) {
            length = 1; /* what was overwritten is skipped */
            continue;
        }
        record[length > 0 ? length : 0] = '\0';
        char *rest = NULL;
        for (char *line = strtok_r(record, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            char *const message = *line == ' ' ? NULL : strchr(line, ';');
            if (message != NULL && is_message(message)) {
                append_row(text, "/dev/kmsg", message + 1);
                count++;
            }
        }
    }
}

/* ----------------------------------------------------------------------- ioctl */

struct interface {
    int socket;
    struct ifreq request;
};

static void append_number(struct text *text, const char *name, const char *what, unsigned long long value)
{
    append(text, "ioctl/%s/%s\t%llu\n", name, what, value);
}

static bool ask_ethtool(struct interface *interface, void *question)
{
    interface->request.ifr_data = question;
    return ioctl(interface->socket, SIOCETHTOOL, &interface->request) == 0;
}

/* Some drivers have thousands; these words are in the names of errors and of bytes on the wire. */
static bool is_statistic(const char *name)
{
    static const char *const words[] = {"err",    "crc",  "discard",       "drop", "timeout", "retr", "pause",
                                        "symbol", "_phy", "out_of_buffer", "cnp",  "fec",     "link", "flap"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void append_statistics(struct text *text, const char *name, struct interface *interface, unsigned int count)
{
    const unsigned int most = 65536;
    if (count == 0 || count > most) {
        return;
    }
    struct ethtool_gstrings *const names = calloc(1, sizeof *names + (size_t)count * ETH_GSTRING_LEN);
    struct ethtool_stats *const values = calloc(1, sizeof *values + count * sizeof(__u64));
    const bool has_memory = names != NULL && values != NULL;
    if (has_memory) {
        *names = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
        *values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
    }
    const bool has_answer = has_memory && ask_ethtool(interface, names) && ask_ethtool(interface, values);
    unsigned int added = 0;
    for (unsigned int i = 0; has_answer && i < count && added < most_statistics; i++) {
        char word[ETH_GSTRING_LEN + 1] = "";
        memcpy(word, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
        clean(word);
        if (is_statistic(word)) {
            append(text, "ioctl/%s/statistics/%s\t%llu\n", name, word, (unsigned long long)values->data[i]);
            added++;
        }
    }
    free(names);
    free(values);
}

static void append_interface(struct text *text, const char *raw, int socket)
{
    struct interface interface = {.socket = socket};
    struct ifreq *const request = &interface.request;
    char name[IFNAMSIZ];
    snprintf(request->ifr_name, sizeof request->ifr_name, "%s", raw);
    snprintf(name, sizeof name, "%s", raw);
    clean(name);
    if (ioctl(socket, SIOCGIFINDEX, request) == 0) {
        append_number(text, name, "ifindex", (unsigned long long)request->ifr_ifindex);
    }
    if (ioctl(socket, SIOCGIFHWADDR, request) == 0) {
        const unsigned char *const at = (const unsigned char *)request->ifr_hwaddr.sa_data;
        append(text, "ioctl/%s/address\t%02x:%02x:%02x:%02x:%02x:%02x\n", name, at[0], at[1], at[2], at[3], at[4],
               at[5]);
    }
    if (ioctl(socket, SIOCGIFMTU, request) == 0) {
        append_number(text, name, "mtu", (unsigned long long)request->ifr_mtu);
    }
    if (ioctl(socket, SIOCGIFFLAGS, request) == 0) {
        const unsigned int flags = (unsigned short)request->ifr_flags;
        append_number(text, name, "running", (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0);
    }
    struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
    if (ask_ethtool(&interface, &settings)) {
        /* ethtool_cmd_speed shifts into the sign of an int. */
        const unsigned int speed = (unsigned int)settings.speed_hi << 16 | settings.speed;
        if (speed != 0 && speed != (unsigned int)SPEED_UNKNOWN && speed != 0xffff) {
            append_number(text, name, "speed", speed);
        }
    }
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
    if (ask_ethtool(&interface, &driver)) {
        clean(driver.driver);
        clean(driver.version);
        clean(driver.fw_version);
        append(text, "ioctl/%s/driver\t%.31s\nioctl/%s/driver_version\t%.31s\n", name, driver.driver, name,
               driver.version);
        append(text, "ioctl/%s/fw_version\t%.31s\n", name, driver.fw_version);
        if (driver.bus_info[0] != '\0') { /* hardware */
            append_statistics(text, name, &interface, driver.n_stats);
        }
    }
}

static void append_interfaces(struct text *text)
{
    const int asked = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct if_nameindex *const all = asked < 0 ? NULL : if_nameindex();
    size_t count = 0;
    for (const struct if_nameindex *each = all; each != NULL && each->if_index != 0 && count < most_interfaces;
         each++, count++) {
        append_interface(text, each->if_name, asked);
    }
    if (all != NULL) {
        if_freenameindex(all);
    }
    if (asked >= 0) {
        close(asked);
    }
}

/* ------------------------------------------------------------------- snapshots */

static double uptime_s(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t count_lines(const struct text *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++) {
        lines += text->data[i] == '\n';
    }
    return lines;
}

/* Writes it at once, so that a snapshot is there or not. */
static void snapshot(int file, const char *moment, const char *root, const char *ending)
{
    char head[512];
    char tail[512];
    struct text text = {malloc(most_bytes), 0, false};
    if (text.data != NULL) {
        const double begin = uptime_s();
        append_files(&text, root);
        append_nvlink(&text, root);
        if (*ending != '\0') {
            append_messages(&text, root);
        }
        if (*root == '\0') {
            append_interfaces(&text);
        }
        snprintf(head, sizeof head, "# %s\n# uptime_s: %.6f\n# took_ms: %.3f\n", moment, begin,
                 1e3 * (uptime_s() - begin));
        snprintf(tail, sizeof tail, "%s# rows: %zu\n%s", text.is_full ? "# cut: more than 1 MiB\n" : "",
                 count_lines(&text), ending);
        const struct iovec parts[] = {{head, strlen(head)}, {text.data, text.length}, {tail, strlen(tail)}};
        (void)!writev(file, parts, sizeof parts / sizeof parts[0]);
    }
    free(text.data);
}

/* In a process of its own: a driver that hangs, or is broken, costs the program longest_ms and nothing else. */
static void take_snapshot(int file, const char *moment, const char *root, const char *ending)
{
    int done[2];
    if (pipe2(done, O_CLOEXEC) != 0) {
        return;
    }
    const pid_t reader = fork();
    if (reader == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        snapshot(file, moment, root, ending);
        _exit(EXIT_SUCCESS); /* which closes the pipe */
    }
    close(done[1]);
    if (reader > 0) {
        struct pollfd end = {.fd = done[0], .events = POLLIN};
        int ready = 0;
        do {
            ready = poll(&end, 1, longest_ms);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0) {
            kill(reader, SIGKILL);
            char line[128];
            const int length =
                snprintf(line, sizeof line, "# %s\n# cut: took more than %d ms\n%s", moment, longest_ms, ending);
            (void)!write(file, line, (size_t)length);
        }
        /* A reader that no signal reaches is left to the kernel. */
        while (waitpid(reader, NULL, ready == 0 ? WNOHANG : 0) < 0 && errno == EINTR) {
        }
    }
    close(done[0]);
}

/* ----------------------------------------------------------------- the program */

static _Noreturn void become(char **command)
{
    execvp(command[0], command); /* NOLINT(clang-analyzer-optin.taint.GenericTaint): that is its purpose */
    const int error = errno;
    fprintf(stderr, "%s: cannot start %s: %s\n", PROGRAM, command[0], strerror(error));
    _exit(error == ENOENT ? exit_not_started + 1 : exit_not_started);
}

static volatile sig_atomic_t child = 0;

static void pass_on(int number)
{
    const int before = errno;
    if (child > 0) {
        kill((pid_t)child, number);
    }
    errno = before;
}

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
enum { signals = sizeof passed_on / sizeof passed_on[0] };

/* Runs the program in a child, which gets the signals sent here; returns how it ended. */
static int run(char **command)
{
    struct sigaction before[signals];
    struct sigaction action = {.sa_handler = pass_on};
    sigset_t held;
    sigset_t mask;
    sigemptyset(&action.sa_mask);
    sigemptyset(&held);
    for (int i = 0; i < signals; i++) {
        sigaddset(&held, passed_on[i]);
    }
    /* None between the fork and the handlers is lost. */
    sigprocmask(SIG_BLOCK, &held, &mask);
    const pid_t parent = getpid();
    const pid_t started = fork();
    if (started < 0) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        become(command);
    }
    if (started == 0) {
        /* A launcher that kills this process means the program. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            raise(SIGKILL);
        }
        sigprocmask(SIG_SETMASK, &mask, NULL);
        become(command);
    }
    child = started;
    for (int i = 0; i < signals; i++) {
        sigaction(passed_on[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            sigaction(passed_on[i], &action, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    int status = 0;
    while (waitpid(started, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return status;
}

static _Noreturn void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none); /* the program's own is enough */
        signal(WTERMSIG(status), SIG_DFL);
        sigset_t mask;
        sigemptyset(&mask);
        sigaddset(&mask, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

/* -------------------------------------------------------------------- the node */

/* Launchers number the processes of a node: only the first needs to look for the file. */
static bool is_another(void)
{
    static const char *const names[] = {"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "PALS_LOCAL_RANKID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const number = getenv(names[i]);
        if (number != NULL && *number >= '1' && *number <= '9') {
            return true;
        }
    }
    return false;
}

/* Sets the name of the node, fit for a file and for a line. */
static void name_node(char *name, size_t room)
{
    const char *const given = getenv("SLURMD_NODENAME");
    if (given != NULL && *given != '\0') {
        snprintf(name, room, "%s", given);
    } else if (gethostname(name, room) != 0) {
        snprintf(name, room, "unknown");
    }
    name[room - 1] = '\0';
    for (char *byte = name; *byte != '\0'; byte++) {
        const bool is_plain = (*byte >= 'a' && *byte <= 'z') || (*byte >= 'A' && *byte <= 'Z') ||
                              (*byte >= '0' && *byte <= '9') || *byte == '-' || (*byte == '.' && byte != name);
        *byte = is_plain ? *byte : '_';
    }
}

static int make_file(const char *folder, const char *node)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.txt", folder, node) >= sizeof path ||
        (mkdir(folder, 0777) != 0 && errno != EEXIST)) {
        return -1;
    }
    /* Above 2, where a program with a closed standard stream would find it. */
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0 || file > STDERR_FILENO) {
        return file;
    }
    const int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return higher;
}

static _Noreturn void usage(const char *what)
{
    fprintf(stderr, "%s: %s; see %s --help\n", PROGRAM, what, PROGRAM);
    exit(exit_usage);
}

int main(int argc, char **argv)
{
    const char *folder = NULL;
    const char *root = "";
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--help") == 0) {
            fputs(method, stdout);
            return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        }
        if (strcmp(argv[at], "--version") == 0) {
            puts(PROGRAM " " FORMAT);
            return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        }
        const bool is_output = strcmp(argv[at], "--output") == 0;
        if (!is_output && strcmp(argv[at], "--root") != 0) {
            usage("the options are --output FOLDER and --root DIR, then -- and a program");
        }
        if (++at == argc) {
            usage("an option has no value");
        }
        *(is_output ? &folder : &root) = argv[at];
    }
    char **const command = argv + at + 1;
    if (folder == NULL || at + 1 >= argc) {
        usage("--output FOLDER and, behind --, a program are needed");
    }
    char node[256];
    name_node(node, sizeof node);
    const int file = is_another() ? -1 : make_file(folder, node);
    if (file < 0) {
        become(command);
    }
    char head[512];
    const int length = snprintf(head, sizeof head, "# fabric-checks %s %s\n# node: %s\n", PROGRAM, FORMAT, node);
    (void)!write(file, head, (size_t)length);
    open_messages(root);
    take_snapshot(file, "before", root, "");
    const int status = run(command);
    char ending[64];
    snprintf(ending, sizeof ending, "# ended: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    take_snapshot(file, "after", root, ending);
    end_as(status);
}
